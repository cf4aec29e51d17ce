import { termsOf } from '../../money/due.ts';
import { providerIdOf } from '../../money/payment.ts';
import type { Queries } from '../../ports/sql.ts';
import { withoutDueCharges } from '../../provider/due-charges.ts';
import type { ChargeReport } from '../../provider/provider.ts';
import {
  type ChargeRequest,
  chargeOf,
  isRequestOpen,
  ofCharge,
  waitsFor,
} from '../charge-request/charge-request.ts';
import type { Kind, PrepareDeps, Prepared, Sending } from '../kind.ts';
import { admitChange, type ChangeOrder, type DuePayment, hasDueDate } from './admission.ts';
import { type ChangeRequest, chargeChanges } from './changes.sql.ts';
import { changeEndedWith } from './end.ts';
import { hearChange, observedChange } from './outcome.ts';

declare module '../../money/sent-kinds.ts' {
  interface SentKinds {
    due_change: { cause: 'change'; shownAs: 'change' };
  }
}

/**
 * A due-date charge gets other terms at its provider. Whatever is said about it goes to the charge, which takes them over once its provider shows them
 * (`money/due.ts`), and the change ends with that (`end.ts`). It goes over the charge's connection.
 */
export const dueChange: Kind<ChangeRequest, ChangeOrder, ChargeReport, never> = {
  ...ofCharge,
  name: 'due_change',
  table: chargeChanges,
  request: {
    ...{ cause: 'change', shownAs: 'change', outcome: 'outcome' },
    openOf: (_view, { due }) => due?.change?.id,
    endedWith: changeEndedWith,
  },
  offers: (can) => can.dueCharges && can.dueTerms?.changes !== false,
  subjectOf: ({ id, paymentId }) => ({ paymentId, detail: { changeId: id } }),

  asked: ({ paymentId, fields }) => ({ paymentId, fields: JSON.stringify(fields) }),
  admit: admitChange,
  prepare: prepareChange,
  async locate(sql, { accountId, paymentId: id }) {
    const [found] = await chargeChanges.read(sql, [accountId + id]);
    const charge = found && isRequestOpen(found) ? await dueChargeOf(sql, found) : undefined;
    if (!found || !charge) return null;
    return {
      query: async (provider) =>
        provider.dueCharges?.query(providerIdOf(charge.id), charge.createdAt) ?? withoutDueCharges,
      observed: (connection, observation) => observedChange(found, connection, observation),
    };
  },
  observed: observedChange,
  hear: hearChange,
};

async function dueChargeOf(sql: Queries, request: ChargeRequest): Promise<DuePayment | undefined> {
  const charge = await chargeOf(sql, request);
  return hasDueDate(charge) ? charge : undefined;
}

async function prepareChange(
  { sql }: PrepareDeps,
  row: ChargeRequest,
  { connection, traceparent }: Sending,
): Promise<Prepared<ChargeReport>> {
  const charge = await dueChargeOf(sql, row);
  const notSent = (detail: string) => ({ outcome: 'notSent', detail }) as const;
  const change = charge?.due.change;
  if (!charge || change?.id !== row.id) return notSent('the charge has no such change');
  // One that the provider has confirmed stays on its connection.
  if (charge.status !== 'pending') return waitsFor(charge);
  if (charge.connection !== null && charge.connection !== connection)
    return notSent('the charge is on another connection');
  const { amountCents, terms } = change;
  const instruction = {
    ...{ txid: providerIdOf(charge.id), amountCents, terms, before: termsOf(charge.due) },
    ...{ createdAt: charge.createdAt, traceparent },
  };
  return async (provider) =>
    provider.dueCharges?.change?.(instruction) ?? notSent('the connection has no due-date charges');
}
