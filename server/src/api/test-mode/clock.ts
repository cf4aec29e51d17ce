import { shiftDeliveries } from '../../events/webhooks/deliveries.sql.ts';
import { shiftEndpoints } from '../../events/webhooks/endpoints.sql.ts';
import type { KeyHolder } from '../../ground/caller.ts';
import { ApiError, refuse, refuseFields } from '../../ground/errors.ts';
import type { Log } from '../../ground/log.ts';
import { isoOf } from '../../kinds/payment/view.ts';
import { providerIdOf } from '../../money/payment.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Net } from '../../ports/net.ts';
import type { Sql } from '../../ports/sql.ts';
import { makeDue } from '../../store/rows/intents.sql.ts';
import { paymentKey, payments } from '../../store/rows/payments.sql.ts';
import { shiftDrafts } from '../transfers/draft.sql.ts';
import {
  type ClockRow,
  createClock,
  findClock,
  findMoving,
  findWaiting,
  lockMoving,
  moveClock,
  setTarget,
  type Waiting,
} from './clock.sql.ts';
import { askSimulator, requireSimulator } from './simulate.ts';

/**
 * The clock of a test account. Moving it forward by a day brings every deadline of the account a day nearer: charges reach their end,
 * drafts lapse, deliveries are tried again.
 *
 * It is moved in steps, from one deadline to the next, and what is due at a deadline is carried out before the next step. So a webhook makes
 * each of its attempts, in order, as it would in three days. What is moved are the due times and never what was recorded: journals, payments
 * and events carry the time at which they were really written, and everything is done by the workers that always do it. Rejected: running the
 * workers of an account on a clock of its own, since its journals would then lie in the future of the installation's statement.
 */
export interface ClockDeps {
  sql: Sql;
  clock: Clock;
  log: Log;
  net: Net;
  simulatorUrl: string;
}

const mostAheadMs = 731 * 86_400_000;
/** Due work that is not done by then (an endpoint that hangs) holds the clock up no longer. */
const patienceMs = 30_000;

export interface ClockView {
  /** The account's time. */
  now: string;
  /** False: the account has none yet, and its time is everybody's. */
  started: boolean;
  status: 'ready' | 'advancing';
  /** Where it is being moved to; null while it stands. */
  to: string | null;
}

const viewOf = (row: ClockRow | undefined, now: number): ClockView => ({
  now: isoOf(now + (row?.aheadMs ?? 0)),
  started: row !== undefined,
  status: row?.targetAheadMs == null ? 'ready' : 'advancing',
  to: row?.targetAheadMs == null ? null : isoOf(now + row.targetAheadMs),
});

/** @throws ApiError `test_account_required`, `simulator_account_required` */
export async function showClock(deps: ClockDeps, holder: KeyHolder): Promise<ClockView> {
  await requireTest(deps, holder);
  return viewOf(await findClock(deps.sql, holder.accountId), deps.clock.now());
}

/**
 * Gives the account a clock. From then on its deliveries are tried as often as those of live accounts, over three days.
 * @throws ApiError `test_account_required`, `simulator_account_required`
 */
export async function startClock(deps: ClockDeps, holder: KeyHolder): Promise<ClockView> {
  await requireTest(deps, holder);
  await createClock(deps.sql, holder.accountId, deps.clock.now());
  return showClock(deps, holder);
}

/**
 * Begins to move the clock; it is there when its status is `ready` again.
 * @param to the account's time, RFC 3339
 * @throws ApiError `test_account_required`, `simulator_account_required`, `validation_failed`, `test_clock_advancing`
 */
export async function advanceClock(deps: ClockDeps, holder: KeyHolder, to: string): Promise<ClockView> {
  await requireTest(deps, holder);
  const now = deps.clock.now();
  const targetAheadMs = Date.parse(to) - now;
  if (Number.isNaN(targetAheadMs)) throw refuseFields([{ field: 'to', code: 'not_a_time' }]);
  await createClock(deps.sql, holder.accountId, now);
  const known = await findClock(deps.sql, holder.accountId);
  if (targetAheadMs <= (known?.aheadMs ?? 0) || targetAheadMs > mostAheadMs) {
    throw refuseFields([{ field: 'to', code: 'not_ahead_of_test_clock' }]);
  }
  if (!(await setTarget(deps.sql, holder.accountId, targetAheadMs, now)))
    throw refuse('test_clock_advancing');
  return showClock(deps, holder);
}

/** The time of a provider's own test environment cannot be moved. */
async function requireTest({ sql }: ClockDeps, holder: KeyHolder): Promise<void> {
  if (!holder.test) throw refuse('test_account_required');
  await requireSimulator(sql, holder.connection);
}

// ------------------------------------------------------------------------------------------------------------------ the steps

export type Step =
  /** Something is due: the workers have it. `expire`: charges whose end the simulator does not know of yet. */
  { what: 'wait'; expire: string[] } | { what: 'move'; byMs: number } | { what: 'stop' };

/** The next moment with work, from the waiting work of the account. Pure. */
export function nextStep(row: ClockRow & { targetAheadMs: number }, waiting: Waiting, now: number): Step {
  const { charges, deadlines, working } = waiting;
  const due = charges.filter(({ dueAt }) => dueAt <= now);
  const isPatient = now - row.movedAt < patienceMs;
  if (isPatient && (working || due.length > 0 || deadlines.some((at) => at <= now)))
    return { what: 'wait', expire: due.map(({ id }) => id) };
  const leftMs = row.targetAheadMs - row.aheadMs;
  if (leftMs <= 0) return { what: 'stop' };
  const ahead = [...deadlines, ...charges.map(({ dueAt }) => dueAt)].filter((at) => at > now);
  return { what: 'move', byMs: Math.min(leftMs, ...ahead.map((at) => at - now)) };
}

/** Moves every clock that is on its way by one step; true when there was one. */
export async function stepTestClocks(deps: ClockDeps): Promise<boolean> {
  const moving = await findMoving(deps.sql, 100);
  let asked = 0;
  for (const accountId of moving) asked += await stepClock(deps, accountId);
  // A step that waits must not spin, and no charge is queried many times a second.
  if (moving.length > 0) await deps.clock.sleep(asked > 0 ? 500 : 50);
  return moving.length > 0;
}

/** @returns how many charges it let expire */
async function stepClock(deps: ClockDeps, accountId: string): Promise<number> {
  const expire = await deps.sql.tx(async (tx) => {
    const row = await lockMoving(tx, accountId);
    if (!row) return [];
    const now = deps.clock.now();
    const step = nextStep(row, await findWaiting(tx, accountId), now);
    if (step.what === 'wait') return step.expire;
    if (step.what === 'move') {
      await shiftDeliveries(tx, accountId, step.byMs, now);
      await shiftEndpoints(tx, accountId, step.byMs);
      await shiftDrafts(tx, accountId, step.byMs);
    }
    const aheadMs = row.aheadMs + (step.what === 'move' ? step.byMs : 0);
    await moveClock(tx, accountId, { aheadMs, stops: step.what === 'stop' }, now);
    return [];
  });
  for (const id of expire) await expireCharge(deps, accountId, id);
  return expire.length;
}

/** The deadline passes at the simulator, and the payment is queried at once. */
async function expireCharge(deps: ClockDeps, accountId: string, paymentId: string): Promise<void> {
  try {
    const [charge] = await payments.read(deps.sql, [paymentKey(accountId, paymentId)]);
    if (!charge) return;
    await askSimulator(deps, charge.connection, `/control/charges/${providerIdOf(paymentId)}/expire`, {});
    await makeDue(deps.sql, [{ accountId, paymentId }], deps.clock.now());
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    deps.log.warn({ accountId, paymentId }, 'the simulator does not answer: a test clock waits');
  }
}
