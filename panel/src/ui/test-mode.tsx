import { Button } from '@mantine/core';
import { ask, type Detail } from '../api/client.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from './action.ts';
import { FormError } from './parts.tsx';

type Payment = Pick<Detail['record'], 'id' | 'kind' | 'status'>;
type Act = 'pay' | 'expire' | 'remove' | 'complete' | 'refuse' | 'return' | 'dispute';

/** What the simulator can do to a payment in its state. */
function actsOf({ kind, status }: Payment): Act[] {
  if (kind === 'deposit') {
    if (status === 'pending') return ['pay', 'expire', 'remove'];
    return status === 'paid' ? ['return', 'dispute'] : [];
  }
  if (status === 'pending') return ['complete', 'refuse'];
  return status === 'completed' ? ['return'] : [];
}

/** Test accounts: the part of the payer and of the banks, as buttons. */
export function TestMode({ payment }: { payment: Payment }) {
  const words = useWords().detail.testMode;
  const { api, account, may } = useScope();
  const { id } = payment;
  const act = useAction(
    (what: Act) => ask(() => api.POST(`/test/payments/{id}/${what}`, { params: { path: { id } }, body: {} })),
    { rereads: [[account.id, 'detail', id]] },
  );
  const acts = actsOf(payment);
  if (!account.test || !may('simulate') || acts.length === 0) return null;
  return (
    <section className="card" aria-labelledby="test-mode">
      <h2 id="test-mode">{words.title}</h2>
      <p className="soft">{words.lead}</p>
      <div style={{ display: 'flex', flexWrap: 'wrap', gap: 8 }}>
        {acts.map((what) => (
          <Button key={what} size="sm" variant="default" disabled={act.busy} onClick={() => act.run(what)}>
            {payment.kind === 'deposit' && what === 'return' ? words.acts.take : words.acts[what]}
          </Button>
        ))}
      </div>
      <div aria-live="polite">{act.done && <p className="soft">{words.done}</p>}</div>
      <FormError error={act.error} />
    </section>
  );
}
