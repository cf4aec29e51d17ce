import { Button } from '@mantine/core';
import { ask, type Detail } from '../api/client.ts';
import { useScope } from '../session.tsx';
import { useWords } from '../text/text.tsx';
import { useAction } from './action.ts';
import { FormError } from './parts.tsx';

type Payment = Pick<Detail['record'], 'id' | 'operationId' | 'kind' | 'status' | 'paymentMethod'>;
type Act = 'pay' | 'expire' | 'remove' | 'complete' | 'refuse' | 'return' | 'dispute';

/** The simulator's acts on a payment in its state. One by card has its own on the page of the simulator's acquirer. */
function actsOf({ kind, status, paymentMethod }: Payment): Act[] {
  if (paymentMethod === 'card') return [];
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
    (what: Act) => {
      const headers = { 'x-service-operation': payment.operationId };
      return ask(() =>
        api.POST(`/test/payments/{id}/${what}`, { params: { path: { id } }, headers, body: {} }),
      );
    },
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

const disputeActs = ['defend', 'accept', 'reject', 'cancel'] as const;

/** Test accounts: what the provider says of a dispute that is not decided; a row of its own below the dispute's. */
export function DisputeTestMode({
  dispute,
  operationId,
  name,
}: {
  dispute: { id: string; status: string; endedAt: string | null };
  operationId: string;
  name: string;
}) {
  const words = useWords().disputes;
  const { api, account, may } = useScope();
  const act = useAction(
    (what: (typeof disputeActs)[number]) => {
      const [params, headers] = [{ path: { id: dispute.id } }, { 'x-service-operation': operationId }];
      return ask(() => api.POST(`/test/disputes/{id}/${what}`, { params, headers, body: {} }));
    },
    { rereads: [[account.id, 'disputes']] },
  );
  const open = dispute.endedAt === null;
  if (!account.test || !may('simulate') || !(open || act.done)) return null;
  return (
    <tr>
      <td className="wide" colSpan={8}>
        {open && (
          <details className="technical" style={{ margin: 0 }}>
            <summary aria-label={words.playOf(name)}>{words.play}</summary>
            <div style={{ display: 'flex', flexWrap: 'wrap', gap: 8, margin: '8px 0' }}>
              {disputeActs
                .filter((what) => what !== 'defend' || dispute.status === 'open')
                .map((what) => (
                  <Button
                    key={what}
                    size="xs"
                    variant="default"
                    disabled={act.busy}
                    onClick={() => act.run(what)}
                  >
                    {words.acts[what]}
                  </Button>
                ))}
            </div>
          </details>
        )}
        <div className="soft" aria-live="polite">
          {act.done && (dispute.status === 'accepted' ? words.accepted : open && words.acted)}
        </div>
        <FormError error={act.error} />
      </td>
    </tr>
  );
}
