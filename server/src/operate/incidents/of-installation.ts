import { idsOf } from '../../ports/ids.ts';
import { installationId } from '../../store/rows/audit.sql.ts';
import { type Incident, incidentKey, incidents } from '../../store/rows/incidents.sql.ts';
import { type Command, put, read } from '../../store/till.ts';

/**
 * Opens an incident of the installation itself, which concerns no account and no money; once for each reference. The operator gets a mail of it.
 * Pure.
 */
export function buildInstallationIncident(input: {
  kind: Extract<Incident['kind'], 'lost_time' | 'connection_held'>;
  reference: string;
  detail: object;
  token: string;
  deadlineMs: number;
}): Command<void> {
  const { kind, reference, detail, token, deadlineMs } = input;
  const accountId = installationId;
  const key = incidentKey(accountId, reference);
  return {
    token,
    deadlineMs,
    chains: [{ accountId, chainId: accountId }],
    reads: [read(incidents, key)],
    eventRefs: [],
    decide: (view, now) => {
      if (view.get(incidents, key)) return { answer: undefined };
      const incident: Incident = {
        accountId,
        id: idsOf(token).uuid(),
        kind,
        paymentId: null,
        operationId: null,
        amountCents: 0,
        reference,
        freezes: false,
        detail,
        openedAt: now,
      };
      return { answer: undefined, writes: [put(incidents, incident)] };
    },
  };
}
