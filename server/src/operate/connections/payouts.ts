import { arrivalOf } from '../../flow/cash-transfers.ts';
import { applyWithinMs } from '../../flow/send.ts';
import { idsOf } from '../../ports/ids.ts';
import { type Operator, OperatorRefused, reasonOf } from '../../store/operator.ts';
import { audits, installationId, writeAudit } from '../../store/rows/audit.sql.ts';
import { openCash, setPaysOutTo } from '../../store/rows/cash-transfers.sql.ts';
import { isConnection } from '../../store/rows/connection-movements.sql.ts';
import { type Command, createTill, put, read } from '../../store/till.ts';

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
    await writeAudit(tx, audit);
  });
  return { connection, toConnection };
}

export interface PayoutToEnd {
  connection: string;
  /** The acquirer's own name of it. */
  reference: string;
  reason: string;
}

export interface EndedPayout extends Omit<PayoutToEnd, 'reason'> {
  amountCents: number;
}

/**
 * Ends a payout that is under way as the company's own money; audited. Once: a payout that is not under way is refused.
 * @throws OperatorRefused no such payout is under way
 */
export async function takePayoutAsOwn(operator: Operator, wanted: PayoutToEnd): Promise<EndedPayout> {
  const { ids, clock, actor } = operator;
  const reason = reasonOf(wanted.reason);
  const deadlineMs = clock.monotonicMs() + applyWithinMs;
  return createTill(operator).submit(buildPayoutAsOwn({ ...wanted, reason, actor }, ids.uuid(), deadlineMs));
}

/** Pure. @throws OperatorRefused from `decide` */
function buildPayoutAsOwn(
  { connection, reference, reason, actor }: PayoutToEnd & { actor: string },
  token: string,
  deadlineMs: number,
): Command<EndedPayout> {
  return {
    token,
    deadlineMs,
    chains: [{ accountId: installationId, chainId: installationId }],
    reads: [read(openCash, connection)],
    eventRefs: [],
    decide: (view, now) => {
      const row = view.get(openCash, connection);
      const payout = row?.open.find((one) => one.reference === reference && one.returnedAt === null);
      if (row === undefined || payout === undefined)
        throw new OperatorRefused(`no payout ${reference} of ${connection} is under way`);
      const { amountCents, toConnection } = payout;
      const open = row.open.filter((one) => one !== payout);
      const audit = {
        ...{ accountId: installationId, id: idsOf(token).uuid(), at: now, actor, reason },
        ...{ action: 'connection.payout_own', subject: connection },
        detail: { reference, amountCents, toConnection },
      };
      return {
        answer: { connection, reference, amountCents },
        postings: [arrivalOf(payout, amountCents, now)],
        writes: [
          put(openCash, { connection, open, ended: [...row.ended, { ...payout, ownAt: now }] }),
          put(audits, audit),
        ],
      };
    },
  };
}
