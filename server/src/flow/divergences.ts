import { type Operator, operatorWaitMs } from '../store/operator.ts';
import { installationId } from '../store/rows/audit.sql.ts';
import { createTill } from '../store/till.ts';
import { buildIncident, type WantedIncident } from './open-incident.ts';

export interface DivergenceFound {
  /** Null: of the installation. */
  accountId: string | null;
  operationId: string | null;
  paymentId: string | null;
  /** The number of the broken invariant. */
  invariant: number;
  fault: string;
}

/** The violations of one pass of `verify`, in the form in which they are recorded. */
export const divergencesOf = (
  checks: readonly {
    number: number;
    violations: readonly Omit<DivergenceFound, 'invariant'>[];
  }[],
): DivergenceFound[] =>
  checks.flatMap(({ number, violations }) => violations.map((one) => ({ ...one, invariant: number })));

/** Of one account and invariant; one broken chain can break everything that follows. */
const divergencesMost = 20;

/**
 * Records what `verify` found as incidents, which stay open until a person has looked. A divergence that a person has resolved is not
 * opened again; another fault at the same place is. Nothing is repaired.
 * @returns how many incidents were opened
 */
export async function recordDivergences(
  operator: Operator,
  found: readonly DivergenceFound[],
): Promise<number> {
  const counts = new Map<string, number>();
  let opened = 0;
  for (const one of found) {
    const group = `${one.accountId ?? installationId}/${one.invariant}`;
    const count = (counts.get(group) ?? 0) + 1;
    counts.set(group, count);
    if (count > divergencesMost) continue;
    const deadlineMs = operator.clock.monotonicMs() + operatorWaitMs;
    const command = buildIncident(divergenceOf(one), operator.ids.uuid(), deadlineMs);
    if (await createTill(operator).submit(command)) opened++;
  }
  return opened;
}

function divergenceOf({
  accountId,
  operationId,
  paymentId,
  invariant,
  fault,
}: DivergenceFound): WantedIncident {
  const owner = accountId ?? installationId;
  const reference = `divergence:${invariant}:${paymentId ?? operationId ?? owner}:${fault}`.slice(0, 400);
  const named = { accountId: owner, paymentId, operationId };
  return { ...named, kind: 'divergence', reference, detail: { invariant, fault } };
}
