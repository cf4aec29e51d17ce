import { Alert, Button, Checkbox } from '@mantine/core';
import { useState } from 'react';
import { ask } from '../api/client.ts';
import type { paths } from '../api/console.d.ts';
import { money } from '../format.ts';
import { useWords } from '../text/text.tsx';
import { useAction } from '../ui/action.ts';
import { Icon } from '../ui/icons.tsx';
import { FormError, MoneyInput } from '../ui/parts.tsx';
import { desk, deskKey, useOperator } from './api.ts';
import { AskedNote } from './decision.tsx';
import { Fact } from './parts.tsx';
import { ReasonField } from './reason-field.tsx';
import { useConsoleWords } from './words.ts';

type Shown = paths['/accounts/{id}/odd-money/acts']['post']['responses'][200]['content']['application/json'];
type Rule = Shown['after'];
type Kind = Rule['oddMoneyKinds'][number];

const kinds = ['second_payment', 'amount_mismatch', 'failed_charge_paid', 'return_refused'] as const;

/** The odd money that the people of an account decide about, and a change of this rule: shown first, and made only as it was shown. */
export function OddMoneyRule({ id, rule }: { id: string; rule: Rule }) {
  const { oddMoney: words } = useConsoleWords();
  const { data: operator } = useOperator();
  return (
    <section className="card" aria-labelledby="odd-money">
      <h2 id="odd-money">{words.title}</h2>
      <p className="soft">{words.lead}</p>
      <dl className="facts">
        <Fact name={words.now}>
          <RuleText rule={rule} />
        </Fact>
      </dl>
      {operator?.acts.includes('changeOddMoneyRule') && <Change id={id} rule={rule} />}
    </section>
  );
}

/** A rule in a sentence. */
export function RuleText({ rule: { oddMoneyKinds, oddMoneyMostCents } }: { rule: Rule }) {
  const { oddMoney: words } = useConsoleWords();
  const { reconciliation } = useWords();
  if (oddMoneyKinds.length === 0) return words.none;
  const named = kinds.filter((kind) => oddMoneyKinds.includes(kind));
  return words.rule(named.map((kind) => reconciliation.kinds[kind]).join(', '), money(oddMoneyMostCents));
}

function Change({ id, rule }: { id: string; rule: Rule }) {
  const words = useConsoleWords();
  const [done, setDone] = useState<'done' | 'asked' | null>(null);
  const [open, setOpen] = useState(false);
  return (
    <div className="stack" style={{ marginTop: 14 }}>
      {done === 'asked' && <AskedNote text={words.decide.asked} />}
      {done === 'done' && (
        <Alert color="green" variant="light" icon={<Icon name="check" />} role="status">
          {words.oddMoney.done}
        </Alert>
      )}
      {open ? (
        <ChangeForm
          id={id}
          rule={rule}
          onEnd={(end) => {
            setDone(end);
            setOpen(false);
          }}
        />
      ) : (
        <Button
          variant="default"
          style={{ alignSelf: 'start' }}
          onClick={() => {
            setDone(null);
            setOpen(true);
          }}
        >
          {words.oddMoney.change}
        </Button>
      )}
    </div>
  );
}

type OnEnd = (end: 'done' | 'asked' | null) => void;

function ChangeForm({ id, rule, onEnd }: { id: string; rule: Rule; onEnd: OnEnd }) {
  const words = useConsoleWords();
  const { reconciliation } = useWords();
  const [chosen, setChosen] = useState<string[]>(rule.oddMoneyKinds);
  const [mostCents, setMost] = useState(rule.oddMoneyMostCents);
  const [reason, setReason] = useState('');
  const [shown, setShown] = useState<Shown | null>(null);
  const wished = { kinds: chosen as Kind[], mostCents: chosen.length === 0 ? 0 : mostCents };
  const params = { path: { id } };
  const look = useAction(async () => {
    setShown(await ask(() => desk.POST('/accounts/{id}/odd-money/acts', { params, body: wished })));
  });
  const change = useAction(
    async () => {
      if (shown === null) return;
      const body = { ...wished, reason: reason.trim(), shown: shown.shown };
      // A rule that was changed meanwhile is looked at again.
      const { requestId } = await ask(() => desk.POST('/accounts/{id}/odd-money', { params, body })).catch(
        (problem: unknown) => {
          setShown(null);
          throw problem;
        },
      );
      onEnd(requestId === null ? 'done' : 'asked');
    },
    {
      rereads: [
        [deskKey, 'account', id],
        [deskKey, 'requests'],
        [deskKey, 'worklist'],
      ],
    },
  );
  return (
    <form className="stack narrow" onSubmit={shown === null ? look.submit : change.submit}>
      <Checkbox.Group
        label={words.oddMoney.kinds}
        value={chosen}
        onChange={(value) => {
          setChosen(value);
          setShown(null);
        }}
      >
        <div className="stack" style={{ gap: 8, marginTop: 8 }}>
          {kinds.map((kind) => (
            <Checkbox key={kind} value={kind} label={reconciliation.kinds[kind]} />
          ))}
        </div>
      </Checkbox.Group>
      {chosen.length > 0 && (
        <MoneyInput
          label={words.oddMoney.most}
          cents={mostCents}
          onCents={(cents) => {
            setMost(cents);
            setShown(null);
          }}
        />
      )}
      {shown !== null && <Preview shown={shown} />}
      {shown !== null && <ReasonField label={words.decide.why} value={reason} onText={setReason} />}
      <FormError error={look.error ?? change.error} />
      <div className="deskbuttons">
        <Button
          type="submit"
          loading={look.busy || change.busy}
          disabled={
            isSame(rule, wished) ||
            (chosen.length > 0 && mostCents === 0) ||
            (shown !== null && reason.trim().length < 5)
          }
        >
          {shown === null ? words.oddMoney.look : shown.alone ? words.oddMoney.confirm : words.decide.request}
        </Button>
        <Button variant="default" onClick={() => onEnd(null)}>
          {words.oddMoney.leave}
        </Button>
      </div>
    </form>
  );
}

const isSame = (
  { oddMoneyKinds, oddMoneyMostCents }: Rule,
  wished: { kinds: readonly Kind[]; mostCents: number },
): boolean =>
  oddMoneyMostCents === wished.mostCents &&
  oddMoneyKinds.length === wished.kinds.length &&
  oddMoneyKinds.every((kind) => wished.kinds.includes(kind));

/** The rule as it would be, and whether one person may change it so; the rule of today stands above. */
function Preview({ shown }: { shown: Shown }) {
  const { oddMoney: words } = useConsoleWords();
  return (
    <>
      <dl className="facts">
        <Fact name={words.next}>
          <strong>
            <RuleText rule={shown.after} />
          </strong>
        </Fact>
      </dl>
      {!shown.alone && (
        <Alert color="yellow" variant="light" icon={<Icon name="warning" />}>
          {words.second}
        </Alert>
      )}
    </>
  );
}
