import { idsOf } from '../ports/ids.ts';
import { type Incident, incidentKey, incidents, openIncidents } from '../store/rows/incidents.sql.ts';
import { type Command, put, read } from '../store/till.ts';

/** An incident that moves no money. One that freezes stops the withdrawals of its operation. */
export type WantedIncident = Pick<Incident, 'accountId' | 'kind' | 'reference' | 'detail'> &
  Partial<Pick<Incident, 'paymentId' | 'operationId' | 'amountCents' | 'freezes'>>;

/** Opens an incident, once for each reference of its account. Answers whether it was opened. Pure. */
export function buildIncident(wanted: WantedIncident, token: string, deadlineMs: number): Command<boolean> {
  const { accountId, reference } = wanted;
  const key = incidentKey(accountId, reference);
  const unnamed = { paymentId: null, operationId: null, amountCents: 0, freezes: false };
  return {
    token,
    deadlineMs,
    chains: [chainOf(wanted)],
    reads: [read(incidents, key)],
    eventRefs: [],
    decide: (view, openedAt) => {
      if (view.get(incidents, key)) return { answer: false };
      const incident: Incident = { ...unnamed, ...wanted, id: idsOf(token).uuid(), openedAt };
      const { paymentId, freezes } = incident;
      const stops = freezes && view.balance(chainOf(wanted))?.deletedAt === null;
      return {
        answer: true,
        writes: [
          ...(paymentId === null ? [] : [put(openIncidents, { accountId, paymentId })]),
          put(incidents, incident),
        ],
        freeze: stops ? [chainOf(wanted)] : [],
      };
    },
  };
}

/** The operation that it freezes; for one that freezes nothing the account, so that no operation is locked for it. */
const chainOf = ({ accountId, operationId, freezes }: WantedIncident) => ({
  accountId,
  chainId: (freezes && operationId) || accountId,
});
