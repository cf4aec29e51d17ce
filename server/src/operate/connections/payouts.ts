import { arrivalOf } from '../../flow/cash-transfers.ts';
import { applyWithinMs } from '../../flow/send.ts';
import { type Operator, OperatorRefused, reasonOf } from '../../store/operator.ts';
import { audits, installationId } from '../../store/rows/audit.sql.ts';
import { openCash, setPaysOutTo } from '../../store/rows/cash-transfers.sql.ts';
import { isConnection } from '../../store/rows/connection-movements.sql.ts';
import { createTill, put, read } from '../../store/till.ts';

/**
 * Says at which connection arrives what an acquirer pays out from now on; audited. What it has paid out before stays as it was.
 * @param toConnection null: at an account of the company that no connection is for
 * @throws OperatorRefused no such connection, or the same one
 */
export async function routePayouts(
  { sql, ids, clock, actor }: Operator,
  connection: string,
  toConnection: string | null,
): Promise<{ connection: string; toConnection: string | null }> {
  if (connection === toConnection) throw new OperatorRefused('an acquirer does not pay out to itself');
  await sql.tx(async (tx) => {
    if (toConnection !== null && !(await isConnection(tx, toConnection)))
      throw new OperatorRefused(`no connection ${toConnection}`);
    if (!(await setPaysOutTo(tx, connection, toConnection)))
      throw new OperatorRefused(`no connection ${connection}`);
    const audit = {
      ...{ accountId: installationId, id: ids.uuid(), at: clock.now(), actor },
      ...{ action: 'connection.pays_out_to', subject: connection, reason: null, detail: { toConnection } },
    };
    await Promise.all(audits.write(tx, { inserted: [audit], updated: [], deleted: [] }));
  });
  return { connection, toConnection };
}

/**
 * Ends a payout that is under way as the company's own money; audited. Once: a payout that is not under way is refused.
 * @throws OperatorRefused no such payout is under way
 */
export async function takePayoutAsOwn(
  operator: Operator,
  { connection, reference, reason: given }: { connection: string; reference: string; reason: string },
): Promise<{ connection: string; reference: string; amountCents: number }> {
  const { ids, clock, actor } = operator;
  const reason = reasonOf(given);
  const chain = { accountId: installationId, chainId: installationId };
  return createTill(operator).submit({
    token: ids.uuid(),
    deadlineMs: clock.monotonicMs() + applyWithinMs,
    chains: [chain],
    reads: [read(openCash, connection)],
    eventRefs: [],
    decide: (view, now) => {
      const row = view.get(openCash, connection);
      const payout = row?.open.find((one) => one.reference === reference && one.returnedAt === null);
      if (row === undefined || payout === undefined)
        throw new OperatorRefused(`no payout ${reference} of ${connection} is under way`);
      const { amountCents, toConnection } = payout;
      const audit = {
        ...{ accountId: installationId, id: ids.uuid(), at: now, actor, reason },
        ...{ action: 'connection.payout_own', subject: connection },
        detail: { reference, amountCents, toConnection },
      };
      return {
        answer: { connection, reference, amountCents },
        postings: [arrivalOf(payout, amountCents, now)],
        writes: [
          put(openCash, {
            connection,
            open: row.open.filter((one) => one !== payout),
            ended: [...row.ended, { ...payout, ownAt: now }],
          }),
          put(audits, audit),
        ],
      };
    },
  });
}
