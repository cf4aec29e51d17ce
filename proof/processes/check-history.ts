import { readFileSync } from 'node:fs';
import type { Entry, Final, Truth } from './history.ts';

/**
 * The checker: it sees the recorded history, what the provider holds true and what the service says at the end, and
 * nothing of the inside. `node check-history.ts HISTORY TRUTH FINAL`.
 */
export function checkHistory(history: readonly Entry[], truth: Truth, final: Final): string[] {
  const faults: string[] = [];
  const must = (holds: boolean, what: string) => {
    if (!holds) faults.push(what);
  };
  const payments = new Map(final.payments.map((payment) => [payment.id.replaceAll('-', ''), payment]));
  const payouts = new Map(truth.payouts.map((payout) => [payout.idEnvio, payout]));

  // One request key, one payment, for every client and every answer.
  const idOfKey = new Map<string, string>();
  for (const { requestKey, paymentId, call } of history) {
    if (requestKey === null || paymentId === null || call === 'payment') continue;
    const before = idOfKey.get(requestKey);
    must(
      before === undefined || before === paymentId,
      `request key ${requestKey} reached ${before} and ${paymentId}`,
    );
    idOfKey.set(requestKey, paymentId);
  }
  // Acknowledged payments are there.
  for (const { paymentId, result } of history)
    if (result === 'ok' && paymentId !== null)
      must(payments.has(paymentId.replaceAll('-', '')), `${paymentId} was acknowledged and is gone`);
  // Each request key is explained by one effect, and each transfer by one request key. Whose fate no client knows (a timeout is
  // neither success nor failure, to the end) may stand for one transfer that no answer named; a refused key for none.
  const keyOfId = new Map<string, string>();
  for (const [requestKey, paymentId] of idOfKey) {
    const other = keyOfId.get(paymentId);
    must(other === undefined, `${paymentId} answers two request keys, ${other} and ${requestKey}`);
    keyOfId.set(paymentId, requestKey);
  }
  const open = new Set<string>();
  for (const { requestKey, paymentId, result, call } of history)
    if (call === 'transfer' && requestKey !== null && result === 'info' && paymentId === null)
      if (!idOfKey.has(requestKey)) open.add(requestKey);
  const unnamed = final.payments.filter(({ kind, id }) => kind !== 'deposit' && !keyOfId.has(id));
  must(
    unnamed.length <= open.size,
    `${unnamed.length} transfers that no answer named, and ${open.size} requests without an answer`,
  );

  // The provider's side and ours are the same.
  for (const payout of truth.payouts) {
    const ours = payments.get(payout.idEnvio);
    must(ours !== undefined, `the provider knows ${payout.idEnvio}, and we do not`);
    must(payout.timesAccepted <= 1, `${payout.idEnvio} was accepted ${payout.timesAccepted} times`);
    if (!ours) continue;
    if (payout.status !== undefined)
      must(
        payout.amountCents === ours.amountCents - ours.feeCents,
        `${payout.idEnvio} was sent with ${payout.amountCents}`,
      );
    const sent = payout.status === 'completed' || payout.status === 'returned';
    must(
      sent === (ours.status === 'completed'),
      `${payout.idEnvio} is ${payout.status} there and ${ours.status} here`,
    );
  }
  let received = 0;
  for (const charge of truth.charges) {
    const ours = payments.get(charge.txid);
    must(ours !== undefined, `the provider knows the charge ${charge.txid}, and we do not`);
    if (charge.status !== 'paid') continue;
    received += charge.amountCents;
    must(ours?.status === 'paid', `the charge ${charge.txid} is paid there and ${ours?.status} here`);
  }
  for (const { id, kind, status } of final.payments) {
    must(
      ['paid', 'completed', 'cancelled', 'failed', 'expired', 'pending'].includes(status),
      `${id} is ${status}`,
    );
    if (kind === 'transfer' && status === 'completed')
      must(
        payouts.get(id.replaceAll('-', ''))?.status === 'completed',
        `${id} completed without the provider`,
      );
  }

  // Money: what came in, less what went out, is what is there; for each operation and for the provider's account.
  for (const operation of final.operations) {
    const own = final.payments.filter((payment) => payment.operationId === operation.id);
    const sum = own.reduce((total, { kind, status, amountCents, feeCents }) => {
      if (kind === 'deposit') return total + (status === 'paid' ? amountCents - feeCents : 0);
      return total - (status === 'cancelled' ? 0 : amountCents);
    }, 0);
    must(
      operation.balanceCents === sum,
      `${operation.id} has ${operation.balanceCents}, its payments say ${sum}`,
    );
    must(operation.balanceCents >= 0, `${operation.id} is overdrawn`);
  }
  const sent = final.payments
    .filter(({ kind, status }) => kind === 'transfer' && status === 'completed')
    .reduce((total, { amountCents, feeCents }) => total + amountCents - feeCents, 0);
  must(
    truth.balanceCents === received - sent,
    `the provider holds ${truth.balanceCents}, we say ${received - sent}`,
  );

  readsFit(history, final, must);

  // A client never sees a payment's state move back, nor a balance below zero.
  const seen = new Map<string, { rank: number; says: string }>();
  for (const { client, paymentId, says, result, balanceCents, call } of history) {
    if (balanceCents !== null) must(balanceCents >= 0, `client ${client} read a balance of ${balanceCents}`);
    if (result !== 'ok' || paymentId === null || says === null || call === 'account') continue;
    const rank = ranks[says] ?? 0;
    const before = seen.get(`${client} ${paymentId}`);
    must(
      before === undefined || before.rank < rank || before.says === says,
      `client ${client} saw ${paymentId} go from ${before?.says} to ${says}`,
    );
    seen.set(`${client} ${paymentId}`, { rank, says });
  }
  return faults;
}

/**
 * The bank check: every balance that was read is one that the operation could have within the read's own window. At most what came in less the transfers that
 * were acknowledged before the read began (one that ended cancelled may be back already); at least what came in less all
 * that were asked for before it ended. Two transfers that both saw the same money, a lost update, read too high.
 */
function readsFit(
  history: readonly Entry[],
  final: Final,
  must: (holds: boolean, what: string) => void,
): void {
  const statusOf = new Map(final.payments.map(({ id, status }) => [id, status]));
  for (const operation of final.operations) {
    const cameIn = final.payments
      .filter(
        ({ kind, status, operationId }) =>
          kind === 'deposit' && status === 'paid' && operationId === operation.id,
      )
      .reduce((sum, { amountCents, feeCents }) => sum + amountCents - feeCents, 0);
    const firstAsked = new Map<string, { at: number; cents: number }>();
    const firstTold = new Map<string, { at: number; cents: number }>();
    for (const {
      call,
      operationId,
      requestKey,
      invokedAt,
      returnedAt,
      result,
      paymentId,
      amountCents,
    } of history) {
      if (call !== 'transfer' || operationId !== operation.id || requestKey === null) continue;
      const cents = amountCents ?? 0;
      const asked = firstAsked.get(requestKey);
      if (!asked || invokedAt < asked.at) firstAsked.set(requestKey, { at: invokedAt, cents });
      if (result !== 'ok' || returnedAt === null || paymentId === null) continue;
      if (statusOf.get(paymentId) === 'cancelled') continue;
      const told = firstTold.get(requestKey);
      if (!told || returnedAt < told.at) firstTold.set(requestKey, { at: returnedAt, cents });
    }
    const sumUntil = (of: Map<string, { at: number; cents: number }>, until: (at: number) => boolean) =>
      [...of.values()].reduce((sum, { at, cents }) => sum + (until(at) ? cents : 0), 0);
    for (const { call, operationId, invokedAt, returnedAt, balanceCents, client } of history) {
      if (call !== 'account' || operationId !== operation.id || balanceCents === null || returnedAt === null)
        continue;
      const most = cameIn - sumUntil(firstTold, (at) => at < invokedAt);
      const least = cameIn - sumUntil(firstAsked, (at) => at <= returnedAt);
      must(
        balanceCents <= most && balanceCents >= least,
        `client ${client} read ${balanceCents} of ${operation.id}, between ${least} and ${most} were possible`,
      );
    }
  }
}

const ranks: Record<string, number> = {
  unknown: 1,
  pending: 2,
  expired: 3,
  completed: 4,
  cancelled: 4,
  failed: 4,
  paid: 4,
};

if (import.meta.main) {
  const [historyPath = '', truthPath = '', finalPath = ''] = process.argv.slice(2);
  const read = (path: string): string => readFileSync(path, 'utf8');
  const history = read(historyPath)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Entry);
  const faults = checkHistory(history, JSON.parse(read(truthPath)), JSON.parse(read(finalPath)));
  for (const fault of faults) console.log(`invariant of the history: ${fault}`);
  const unclear = history.filter(({ result }) => result === 'info').length;
  console.log(`history: ${history.length} calls, ${unclear} without an answer, ${faults.length} faults`);
  process.exitCode = faults.length > 0 ? 1 : 0;
}
