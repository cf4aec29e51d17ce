import { createHash } from 'node:crypto';
import type { Bank } from '../../simulator/src/bank.ts';
import { approvalOf, cardOf } from '../../simulator/src/cards.ts';
import { notify } from '../../simulator/src/outbox.ts';
import type { Cast } from './cast.ts';
import {
  checkAtEnd,
  checkEnd,
  checkEvents,
  checkStep,
  type Finding,
  isUnposted,
  type Rows,
  readRows,
} from './checks.ts';
import type { Database } from './database.ts';
import type { Mirror } from './evidence.ts';
import { noFaults } from './network.ts';
import { pixKey } from './prelude.ts';
import type { Outcome, Run } from './scenario.ts';

const hour = 3_600_000;

/** Liveness: the sky clears, and within two days everything that the provider decided is known here. */
export async function settleAll(cast: Cast): Promise<void> {
  const { db, bank, provider, acquirer, receiver, people, dues, cards, links, disputes } = cast;
  const { closes, findings } = cast;
  const { world, living } = cast.scene;
  cast.absences.end();
  world.crashAt(Number.POSITIVE_INFINITY, 'before', () => {});
  provider.faults = noFaults;
  provider.refusals = 0;
  acquirer.faults = noFaults;
  acquirer.refusals = 0;
  receiver.trouble = 0;
  world.faults = { lost: 0, contention: 0, commitUnknown: 0 };
  living().process.clockOffsetMs = 0;
  provider.settleAll();
  tellAgain(db, bank, world.now());
  provider.wake();
  cast.again();
  links?.settle();
  await cards?.settle();
  await settled(cast, true);
  if (dues) {
    dues.settle();
    await settled(cast);
  }
  if (disputes) {
    await disputes.settle();
    await settled(cast);
  }
  if (people) {
    let looked = false;
    void people.resolveAll().then(() => {
      looked = true;
    });
    if (!(await world.run(() => looked, world.now() + hour)))
      findings.push({ invariant: 46, what: 'the incidents cannot be resolved' });
    await settled(cast);
  }
  await closes?.settle();
}

/** Two days at most. A charge with an open incident waits until the incident is resolved, and then has its own time limit. */
function settled(
  { db, bank, acquirer, delivers, scene: { world } }: Cast,
  exceptDues = false,
): Promise<boolean> {
  const end = world.now() + 48 * hour;
  let nextLook = world.now();
  return world.run(() => {
    if (world.now() < nextLook) return false;
    nextLook = world.now() + 60_000;
    return (
      isSettled({ db, bank, acquirer }, exceptDues) &&
      bank.outbox.waiting.size === 0 &&
      acquirer.bank.outbox.waiting.size === 0 &&
      bank.due.items.length === 0 &&
      // The looks at the end have transactions of their own.
      !db.isBusy() &&
      (!delivers || db.run(waitingEvents, []).length === 0)
    );
  }, end);
}

/** Of each intent whether a person looked at its payment, and its payment, where that is a charge with a due date that nothing else is asked of, or a payment by card that is held. */
const openIntents = `SELECT p.id, p.card IS NOT NULL AS card, i.payment_id AS sent,
  EXISTS (SELECT FROM incident n WHERE n.account_id = i.account_id AND n.payment_id = i.payment_id) AS looked
  FROM intent i LEFT JOIN payment p ON p.id = i.payment_id AND
  (p.card ->> 'settlement' = 'held' OR (p.status = 'pending' AND p.due IS NOT NULL AND NOT p.due ? 'change'))`;

/** Nothing is followed up but what the acquirer holds and payouts that were removed; `exceptDues`: and charges with a due date that their payers have days for. */
function isSettled(
  { db, bank, acquirer }: Pick<Cast, 'db' | 'bank' | 'acquirer'>,
  exceptDues: boolean,
): boolean {
  if (db.run('SELECT 1 FROM draft LIMIT 1', []).length > 0) return false;
  const rows = db.run<{ id: string | null; card: boolean; sent: string; looked: boolean }>(openIntents, []);
  return rows.every(({ id, card, sent, looked }) => {
    if (bank.payouts.get(sent.replaceAll('-', ''))?.removed) return looked;
    const name = id?.replaceAll('-', '') ?? '';
    if (!card) return exceptDues && bank.charges.get(name)?.status === 'ATIVA';
    const page = cardOf(acquirer.bank, name);
    return page !== undefined && approvalOf(page)?.released === false;
  });
}

const waitingEvents = `SELECT 1 FROM event_fresh UNION ALL
  SELECT 1 FROM webhook_delivery WHERE status = 'pending' LIMIT 1`;

/**
 * The provider reports money that moved after a payment had ended by webhook alone, and gives up after an hour; news that it
 * never reports only a reconciliation finds. Here it reports once more.
 */
function tellAgain(db: Database, bank: Bank, now: number): void {
  const ended = new Set(
    db
      .run<{ id: string }>(
        'SELECT p.id FROM payment p WHERE NOT EXISTS (SELECT FROM intent i WHERE i.payment_id = p.id)',
        [],
      )
      .map(({ id }) => id.replaceAll('-', '')),
  );
  for (const { txid, endToEnd, returns } of bank.payments.values())
    if (ended.has(txid))
      notify(bank.outbox, bank.behaviour, now, {
        key: pixKey,
        kind: 'payment',
        id: endToEnd,
        returns: returns.length,
      });
  for (const { idEnvio, returns } of bank.payoutList)
    if (ended.has(idEnvio) && returns.length > 0)
      notify(bank.outbox, bank.behaviour, now, {
        key: pixKey,
        kind: 'payout',
        id: idEnvio,
        returns: returns.length,
      });
}

/** The service's state, compared with the provider's truth and the endpoint's deliveries. The process ends. */
export async function outcomeOf(
  cast: Cast,
  mirror: Mirror,
  run: Run,
): Promise<Omit<Outcome, 'points' | 'deaths'>> {
  const { db, bank, examined, story, scene } = cast;
  const { world, living, say } = scene;
  const rows = readRows(db);
  await Promise.all(cast.looks);
  // `verify` reads with fifty statements rows that the mirror has in memory: often enough is enough.
  const byItself = run.closes || run.cards || (run.crash?.point ?? 0) % 10 === 0;
  const found = await (byItself
    ? checkAtEnd(cast, world.now(), examined)
    : checkStep({ ...cast, mirror }, world.now(), examined, true));
  const findings = [...cast.findings, ...found, ...findingsOf(cast, rows)];
  if (findings.length > 0) for (const intent of rows.intents) say(`left: ${JSON.stringify(intent)}`);
  countSteps(cast, rows);
  living().process.kill();
  const digest = createHash('sha256').update(world.trace.hash()).update(digestOf(rows, bank)).digest('hex');
  return { findings, seen: world.seen, examined, story, digest, trace: world.trace.lines };
}

function findingsOf(cast: Cast, rows: Rows): Finding[] {
  const { db, bank, receiver, merchant, people, refunds, cancels, dues, cards, links, disputes } = cast;
  const { closes, delivers } = cast;
  const lost = merchant.acknowledged().filter((id) => !rows.payments.some((payment) => payment.id === id));
  return [
    ...checkEnd(rows, bank),
    ...receiver.findings,
    ...(people?.check(rows) ?? []),
    ...(refunds?.check(rows) ?? []),
    ...(cancels?.check(rows) ?? []),
    ...(dues?.check(rows) ?? []),
    ...(cards?.check() ?? []),
    ...(links?.check() ?? []),
    ...(disputes?.check() ?? []),
    ...(closes?.check({ unposted: rows.incidents.some(isUnposted) }) ?? []),
    ...(delivers ? checkEvents(db, receiver) : []),
    ...lost.map((id) => ({ invariant: 18, what: `${id} was answered and is not there` })),
  ];
}

/** Which steps the state machines took. */
function countSteps({ scene: { world } }: Cast, rows: Rows): void {
  for (const { history, kind } of rows.payments)
    for (const [at, step] of history.entries())
      world.count(`${kind} ${history[at - 1]?.status ?? 'new'} -> ${step.status} by ${step.cause.by}`);
  for (const { history, reason } of rows.refunds)
    for (const [at, step] of history.entries())
      world.count(
        `refund ${reason} ${history[at - 1]?.status ?? 'new'} -> ${step.status} by ${step.cause.by}`,
      );
  for (const { kind } of rows.incidents) world.count(`incident ${kind}`);
}

function digestOf(rows: Rows, bank: Bank): string {
  const payouts = [...bank.payouts.values()].map(
    (one) => `${one.idEnvio} ${one.status} ${one.timesReceived}`,
  );
  return JSON.stringify([rows, payouts], (_, value) =>
    value?.type === 'Buffer' ? Buffer.from(value.data).toString('hex') : value,
  );
}
