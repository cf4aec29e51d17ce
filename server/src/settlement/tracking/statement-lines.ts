import type { House } from '../../compose/runtime.ts';
import { paymentIdOf } from '../../payments/payment.ts';
import { findOwners } from '../../payments/payments.sql.ts';
import type { Provider } from '../../provider/provider.ts';
import { accountNumberOf } from '../../request-keys/idempotency.ts';
import { audits, installationId } from '../operator/audit.sql.ts';
import { confirm, NoQueryLeft, takeAllowedQuery } from './follow-up.ts';
import { type Operator, OperatorRefused } from '../operator/operator.ts';
import { findUnknown } from './statement.sql.ts';
import {
  claimLines,
  findOpenLines,
  type LineToAnswer,
  noteLineFailed,
  type OpenLine,
  postponeLine,
  removeLine,
  setLinesAside,
} from './statement-lines.sql.ts';

/**
 * Lines of a statement that could not be answered, each with retries of its own.
 *
 * Rejected: to read on only when every line has been answered. One payment that the provider answers wrongly would then keep the
 * late money of all merchants of the connection from being found. Rejected as well: to drop such a line after a time; a person decides
 * that (`vintem statement dismiss`).
 */
const claimMs = 5 * 60_000;
const linesMost = 10;
const busyMs = 30_000;

/** Between the tries of one line: a minute at first, six hours at most. */
const retryAfterMs = (tries: number): number => Math.min(6 * 3_600_000, 60_000 * 2 ** Math.min(tries, 9));

export async function setAside(
  house: Pick<House, 'sql' | 'clock' | 'log'>,
  connection: string,
  line: LineToAnswer,
  problem: string,
): Promise<void> {
  const now = house.clock.now();
  house.log.error({ connection, kind: line.kind, problem }, 'a line of the statement is set aside');
  await setLinesAside(house.sql, connection, [line], { now, nextAt: now + retryAfterMs(0), problem });
}

/** Looks up lines that are due. @returns true when there may be more at once */
export async function stepStatementLines(house: House, provider: Provider): Promise<boolean> {
  const { connection } = provider;
  const now = house.clock.now();
  const due = await claimLines(house.sql, connection, now, now + claimMs, linesMost);
  for (const [at, line] of due.entries()) {
    try {
      const problem = await problemOf(house, provider, line);
      if (problem === null) await removeLine(house.sql, connection, line);
      else await fail(house, connection, line, problem);
    } catch (error) {
      if (error instanceof NoQueryLeft) {
        const nextAt = house.clock.now() + busyMs;
        for (const left of due.slice(at)) await postponeLine(house.sql, connection, left, nextAt);
        return false;
      }
      house.log.warn({ err: error, connection }, 'a line of the statement could not be answered');
      await fail(house, connection, line, (error as Error).message);
    }
  }
  return due.length === linesMost;
}

const fail = (house: House, connection: string, line: LineToAnswer & { tries: number }, problem: string) =>
  noteLineFailed(house.sql, connection, line, house.clock.now() + retryAfterMs(line.tries), problem);

/** Why the line has no answer; null: the books have what it says, or it names no payment of ours. */
async function problemOf(house: House, provider: Provider, line: LineToAnswer): Promise<string | null> {
  let { providerId } = line;
  if (line.kind === 'reported') {
    if (line.endToEnd === null) return 'the report names no end-to-end id';
    const slot = await takeAllowedQuery(house, provider);
    if (!slot) throw new NoQueryLeft();
    const found = await provider.findPix(line.endToEnd).finally(() => slot.free());
    if (found.outcome === 'notFound') return 'the provider does not know this Pix';
    if (found.outcome === 'unclear') return `the provider does not answer: ${found.detail}`;
    providerId = found.report.providerId;
  }
  const paymentId = providerId === null ? null : paymentIdOf(providerId);
  if (paymentId === null) return null;
  const named = { ...line, kind: line.kind === 'reported' ? ('returned' as const) : line.kind };
  const accountNumber = accountNumberOf(paymentId);
  const news = await findUnknown(house.sql, provider.connection, [{ ...named, paymentId, accountNumber }]);
  if (news.length === 0) return null;
  await confirm(
    house,
    provider,
    await findOwners(house.sql, provider.connection, [{ id: paymentId, accountNumber }]),
  );
  return null;
}

/** What operators have to look at. */
export const listOpenLines = (house: Pick<House, 'sql'>): Promise<OpenLine[]> => findOpenLines(house.sql);

/** A person has looked at the line: it is not looked up again. @throws OperatorRefused no such line */
export async function dismissLine(
  operator: Operator,
  connection: string,
  line: Pick<LineToAnswer, 'kind' | 'id'>,
  reason: string,
): Promise<void> {
  await operator.sql.tx(async (tx) => {
    if (!(await removeLine(tx, connection, line))) throw new OperatorRefused('no such line');
    const audit = {
      accountId: installationId,
      id: operator.ids.uuid(),
      at: operator.clock.now(),
      actor: operator.actor,
      action: 'statement_line.dismiss',
      subject: line.id,
      reason,
      detail: { connection, kind: line.kind },
    };
    await Promise.all(audits.write(tx, { inserted: [audit], updated: [], deleted: [] }));
  });
}
