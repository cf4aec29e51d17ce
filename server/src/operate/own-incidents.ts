import { nextQuery } from '../flow/query.ts';
import type { TrackingDeps } from '../flow/tracking-deps.ts';
import { pixOf } from '../flow/unmatched.ts';
import { paymentIdOf } from '../money/payment.ts';
import { staticIdentifierOf } from '../provider/br-code.ts';
import type { Provider } from '../provider/provider.ts';
import { type Operator, OperatorRefused, reasonOf } from '../store/operator.ts';
import { installationId } from '../store/rows/audit.sql.ts';
import { findIncidents, type IncidentCase } from '../store/rows/incidents.sql.ts';
import { resolveIncident } from './incidents/incident.ts';

export interface OwnIncidents {
  /** Incidents that were ended: their money was the company's own. */
  resolved: number;
  resolvedCents: number;
  /** Those that stay open: the provider names an id of our form, names nothing, or does not answer. */
  left: { id: string; why: string }[];
}

const perPage = 500;
const queryWithinMs = 60_000;

/**
 * Ends the open incidents of money that the company itself received or sent over a connection, as they were opened before such money became a
 * movement of its connection. The provider is asked for each Pix: only what it has under no id of our form is written off, each incident by itself and
 * with an entry of its own in the audit log. An act that was interrupted is repeated.
 * @throws OperatorRefused no such connection
 */
export async function resolveOwnIncidents(
  deps: TrackingDeps,
  operator: Operator,
  wanted: { connection: string; reason: string },
): Promise<OwnIncidents> {
  const reason = reasonOf(wanted.reason);
  const provider = deps.providers.get(wanted.connection);
  if (!provider) throw new OperatorRefused(`no connection ${wanted.connection} that is in use`);
  const result: OwnIncidents = { resolved: 0, resolvedCents: 0, left: [] };
  let before = { openedAt: deps.clock.now() + 86_400_000, id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };
  for (;;) {
    const page = await findIncidents(operator.sql, installationId, before, perPage);
    for (const incident of page.filter((one) => isCandidate(one, wanted.connection))) {
      const why = await whyNotOwn(deps, provider, incident);
      if (why !== null) result.left.push({ id: incident.id, why });
      else {
        await resolveIncident(operator, incident.id, { action: 'writeoff', reason });
        result.resolved++;
        result.resolvedCents += incident.amountCents;
      }
    }
    const last = page.at(-1);
    if (!last || page.length < perPage) return result;
    before = last;
  }
}

const isCandidate = ({ kind, state, detail }: IncidentCase, connection: string): boolean => {
  const { connection: at, believed } = detail as { connection?: string; believed?: boolean };
  return kind === 'unmatched' && state === 'open' && at === connection && believed === true;
};

/** Null: it is the company's own. A return has no Pix of its own to ask for, and stays a person's. */
async function whyNotOwn(
  deps: TrackingDeps,
  provider: Provider,
  { reference }: IncidentCase,
): Promise<string | null> {
  const pix = pixOf(reference.slice('unmatched:'.length));
  if (!/^E/.test(pix) || pix.includes('/')) return 'it is no Pix by itself';
  const slot = await nextQuery(deps, provider, deps.clock.monotonicMs() + queryWithinMs);
  const found = await provider.findPix(pix).finally(() => slot.free());
  if (found.outcome === 'unclear') return `the provider does not answer: ${found.detail}`;
  if (found.outcome === 'notFound') return 'the provider does not know this Pix';
  const { providerId } = found.report;
  if (providerId === null) return null;
  const isOurForm = paymentIdOf(providerId) !== null || staticIdentifierOf(providerId) !== null;
  return isOurForm ? 'it is under an id of our form' : null;
}
