import { idsOf } from '../ports/ids.ts';
import { type Operator, operatorWaitMs } from '../store/operator.ts';
import { installationId } from '../store/rows/audit.sql.ts';
import { incidentKey, incidents } from '../store/rows/incidents.sql.ts';
import { type Command, createTill, put, read } from '../store/till.ts';

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
    const command = buildDivergence({ found: one, token: operator.ids.uuid(), deadlineMs });
    if (await createTill(operator).submit(command)) opened++;
  }
  return opened;
}

/** Opens the incident, unless one with its reference exists. Answers whether it was opened. Pure. */
export function buildDivergence(input: {
  found: DivergenceFound;
  token: string;
  deadlineMs: number;
}): Command<boolean> {
  const { found, token, deadlineMs } = input;
  const { operationId, paymentId, invariant, fault } = found;
  const accountId = found.accountId ?? installationId;
  const where = paymentId ?? operationId ?? accountId;
  const reference = `divergence:${invariant}:${where}:${fault}`.slice(0, 400);
  const key = incidentKey(accountId, reference);
  return {
    token,
    deadlineMs,
    chains: [{ accountId, chainId: accountId }],
    reads: [read(incidents, key)],
    eventRefs: [],
    decide: (view, now) => {
      if (view.get(incidents, key)) return { answer: false };
      const incident = {
        accountId,
        id: idsOf(token).uuid(),
        kind: 'divergence' as const,
        paymentId,
        operationId,
        amountCents: 0,
        reference,
        freezes: false,
        detail: { invariant, fault },
        openedAt: now,
      };
      return { answer: true, writes: [put(incidents, incident)] };
    },
  };
}
