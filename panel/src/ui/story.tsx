import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Detail, Dispute } from '../api/client.ts';
import { dateTime, dateTimeSeconds, money } from '../format.ts';
import { Deadline } from '../pages/disputes.tsx';
import { useWords } from '../text/text.tsx';
import { DefenceOf } from './defence.tsx';
import { Money, moodOf } from './parts.tsx';

type Mark = Detail['marks'][number];

const moodOfMark: Record<Mark, string> = {
  disputed: 'ask',
  dispute_lost: 'bad',
  odd: 'ask',
  refunded: 'rest',
  partly_refunded: 'rest',
  returned: 'rest',
};

/** The turns of a payment beside its own state, as coloured words. */
export function Marks({ marks }: { marks: readonly Mark[] }) {
  const words = useWords();
  return marks.map((mark) => (
    <span key={mark} className={`status ${moodOfMark[mark]}`}>
      {words.story.marks[mark]}
    </span>
  ));
}

const isOdd = (kind: string): boolean =>
  kind === 'amount_mismatch' || kind === 'second_payment' || kind === 'failed_charge_paid';

/** The change of the balance by the payment, part by part: `159,00 recebido − 39,00 reembolsado − 1,57 tarifa = 118,43`. */
export function NetEffect({ data }: { data: Detail }) {
  const words = useWords();
  const { record, lines, disputes, refunds } = data;
  const held = lines.reduce((sum, line) => sum + line.heldCents, 0);
  const net = lines.reduce((sum, line) => sum + line.availableCents, 0);
  const refunded = refunds
    .filter(({ status, reason }) => status !== 'failed' && reason === 'requested')
    .reduce((sum, one) => sum + one.amountCents, 0);
  const taken = disputes.reduce((sum, one) => sum + one.debitedCents, 0);
  const fee = lines.reduce((sum, line) => sum + line.feeCents, 0);
  if (record.kind !== 'deposit' || lines.length === 0 || (refunded === 0 && taken === 0 && held === 0))
    return null;
  const parts: [text: string, cents: number][] = [
    [words.story.net.refunded, refunded],
    [words.story.net.taken, taken],
    [words.story.net.fee, fee],
    [words.story.net.held, held],
  ];
  const came = net + refunded + taken + fee + held;
  return (
    <p className="neteffect">
      {words.story.net.came} {money(came)}
      {parts
        .filter(([, cents]) => cents !== 0)
        .map(([text, cents]) => ` − ${text} ${money(cents)}`)
        .join('')}{' '}
      = <strong className="num">{money(net)}</strong>
    </p>
  );
}

/** The disputes of the payment, each with what is held, its deadline and the way to the defence. */
export function DisputesOf({ disputes }: { disputes: Dispute[] }) {
  const words = useWords();
  if (disputes.length === 0) return null;
  return (
    <section className="card" aria-labelledby="disputes">
      <div className="cardhead">
        <h2 id="disputes">{words.disputes.title}</h2>
        <Link to="/contestacoes" className="end">
          {words.story.allDisputes}
        </Link>
      </div>
      {disputes.map((one) => (
        <div key={one.id}>
          <span className={`status ${moodOf(one.status)}`}>{words.disputes.states[one.status]}</span>
          <dl className="facts">
            <dt>{words.disputes.amount}</dt>
            <dd>
              <Money cents={one.amountCents} />
            </dd>
            <dt>{words.disputes.held}</dt>
            <dd>
              <Money cents={one.heldCents} />
            </dd>
            {one.debitedCents > 0 && (
              <>
                <dt>{words.disputes.debited}</dt>
                <dd>
                  <Money cents={one.debitedCents} />
                </dd>
              </>
            )}
            <dt>{words.disputes.deadline}</dt>
            <dd>
              <Deadline at={one.deadlineAt} ended={one.endedAt !== null} />
            </dd>
          </dl>
          <DefenceOf dispute={one} />
        </div>
      ))}
    </section>
  );
}

interface Step {
  at: string;
  key: string;
  mood: string;
  title: ReactNode;
  about: string | null;
}

/** Everything that happened to the payment, in one order. @param states its own states, with who caused each */
export function useStory(data: Detail, states: Step[]): Step[] {
  const words = useWords();
  const steps: Step[] = [...states];
  const add = (at: string | null, key: string, mood: string, title: string, about: string | null = null) => {
    if (at !== null) steps.push({ at, key, mood, title, about });
  };
  for (const one of data.refunds) {
    const back = one.reason === 'odd_money';
    const name = back ? words.story.steps.backToPayer : words.story.steps.refund;
    add(one.createdAt, `asked ${one.id}`, 'wait', name(money(one.amountCents)));
    if (one.settledAt !== null)
      add(one.settledAt, `done ${one.id}`, 'good', words.story.steps.refundDone(money(one.amountCents)));
    else if (one.status === 'failed')
      add(one.updatedAt, `failed ${one.id}`, 'bad', words.story.steps.refundFailed(money(one.amountCents)));
  }
  for (const one of data.disputes) {
    add(
      one.openedAt,
      `opened ${one.id}`,
      'ask',
      words.story.steps.disputed(money(one.amountCents)),
      one.deadlineAt && `${words.disputes.deadline}: ${dateTime(one.deadlineAt)}`,
    );
    if (one.endedAt !== null)
      add(
        one.endedAt,
        `ended ${one.id}`,
        moodOf(one.status),
        `${words.disputes.one}: ${words.disputes.states[one.status]}`,
      );
  }
  for (const one of data.incidents.filter(({ kind }) => isOdd(kind))) {
    const kind = words.reconciliation.kinds[one.kind] ?? one.kind;
    const waits = one.resolvedAt === null ? words.story.waits : null;
    add(one.openedAt, `odd ${one.id}`, 'ask', `${kind}: ${money(one.amountCents)}`, waits);
    if (one.resolvedAt !== null)
      add(
        one.resolvedAt,
        `decided ${one.id}`,
        'rest',
        words.story.decided[one.action ?? ''] ?? words.story.decidedOther,
        one.decidedBy && words.story.decidedBy[one.decidedBy],
      );
  }
  const came = data.record.kind === 'transfer' ? words.story.steps.returned : words.story.steps.taken;
  for (const [at, one] of data.returns.entries())
    add(one.at, `back ${at}`, data.record.kind === 'transfer' ? 'rest' : 'bad', came(money(one.amountCents)));
  for (const one of data.events)
    if (one.deliveries.length > 0) {
      const failed = one.deliveries.includes('failed');
      const text = failed
        ? words.story.steps.notDelivered
        : one.deliveries.includes('delivered')
          ? words.story.steps.delivered
          : words.story.steps.delivering;
      add(one.createdAt, `event ${one.id}`, failed ? 'bad' : 'rest', text, one.type);
    }
  return steps.toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at));
}

export function StorySteps({ steps }: { steps: Step[] }) {
  return (
    <ol className="timeline">
      {steps.map(({ key, at, mood, title, about }) => (
        <li key={key} className={mood}>
          {typeof title === 'string' ? <strong>{title}</strong> : title}
          <div className="soft" style={{ fontSize: 14 }}>
            <time dateTime={at} className="num">
              {dateTimeSeconds(at)}
            </time>
            {about && ` · ${about}`}
          </div>
        </li>
      ))}
    </ol>
  );
}
