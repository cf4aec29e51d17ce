import { idsOf } from '../ports/ids.ts';
import { type Incident, incidentKey, incidents } from '../store/rows/incidents.sql.ts';
import { type Command, put, read } from '../store/till.ts';

/** An incident that moves no money. */
export type WantedIncident = Pick<Incident, 'accountId' | 'kind' | 'reference' | 'detail'> &
  Partial<Pick<Incident, 'paymentId' | 'operationId' | 'amountCents'>>;

/** Opens an incident, once for each reference of its account, and freezes nothing. Answers whether it was opened. Pure. */
export function buildIncident(wanted: WantedIncident, token: string, deadlineMs: number): Command<boolean> {
  const { accountId, reference } = wanted;
  const key = incidentKey(accountId, reference);
  return {
    token,
    deadlineMs,
    chains: [{ accountId, chainId: accountId }],
    reads: [read(incidents, key)],
    eventRefs: [],
    decide: (view, openedAt) => {
      if (view.get(incidents, key)) return { answer: false };
      const unnamed = { paymentId: null, operationId: null, amountCents: 0 };
      const incident = { ...unnamed, ...wanted, id: idsOf(token).uuid(), freezes: false, openedAt };
      return { answer: true, writes: [put(incidents, incident)] };
    },
  };
}
