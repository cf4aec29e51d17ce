import { causeOfCall, isTerminal, type Payment, providerIdOf } from '../../money/payment.ts';
import { factsOfDecision, next } from '../../money/state.ts';
import { idsOf } from '../../ports/ids.ts';
import type { Sql } from '../../ports/sql.ts';
import type { ChargeReport, PayoutReport, Provider, QueryOutcome } from '../../provider/provider.ts';
import { payments } from '../../store/rows/payments.sql.ts';
import { type Posting, put, type Write } from '../../store/till.ts';
import type { Asked, Located, RefusalContext } from '../kind.ts';
import { hearPayment, isLookedAt, undecidedPayment } from './outcome.ts';
import { announce } from './payment-events.ts';

/** The common part of charges and transfers: both are payments. */
export const sentPayment = {
  table: payments,
  notFound: 'payment_not_found',
  unread: [],
  isOpen: ({ status }: Payment): boolean => !isTerminal(status),
  subjectOf: ({ id }: Payment) => ({ paymentId: id, detail: {} }),
  undecided: undecidedPayment,
  isLookedAt,
  adopted: (payment: Payment, connection: string): Payment => ({ ...payment, connection }),
  refused: refusedBeforehand,
  observed: <Seen>({ accountId, id, operationId, kind }: Payment, connection: string, observation: Seen) => ({
    accountId,
    paymentId: id,
    operationId,
    connection,
    kind,
    observation,
  }),
  hear: hearPayment,
} as const;

/** A payment whose refusal is known beforehand is cancelled in the transaction that makes it, and nothing is sent to the provider. */
function refusedBeforehand(
  payment: Payment,
  { reason, caller, connection, token, now }: RefusalContext,
): { row: Payment; postings: Posting[]; writes: Write[] } {
  const step = next(payment, { type: 'refused', reason }, factsOfDecision(now, causeOfCall('rule', caller)));
  if (!step) throw new Error('a new payment could not be refused');
  const chain = { accountId: payment.accountId, chainId: payment.operationId };
  return {
    row: step.payment,
    postings: step.postings.map((posting) => ({ ...posting, chain, subject: payment.id, connection })),
    writes: [
      put(payments, step.payment),
      ...announce(idsOf(token), !caller.test, step.payment, payment.status, step.events),
    ],
  };
}

/** A payment is queried by its id, and nothing has to be read of it. */
export const locatedPayment =
  (
    query: (
      provider: Provider,
      providerId: string,
      asked: Asked,
    ) => Promise<QueryOutcome<ChargeReport | PayoutReport>>,
  ) =>
  async (_sql: Sql, asked: Asked): Promise<Located<ChargeReport | PayoutReport>> => {
    const { accountId, paymentId, operationId, kind } = asked;
    return {
      query: (provider) => query(provider, providerIdOf(paymentId), asked),
      observed: (connection, observation) => ({
        accountId,
        paymentId,
        operationId,
        connection,
        kind,
        observation,
      }),
    };
  };
