import { type Agreed, hashOfShown, movedCents, onlyAsShown } from '../../store/as-shown.ts';
import { type Operator, OperatorRefused } from '../../store/operator.ts';
import { type PlannedPosting, RehearsalBusy, rehearseAct } from '../../store/rehearsal.ts';
import { type Action, actions } from './endings.ts';
import { type IncidentView, resolveIncident } from './incident.ts';
import type { Decider } from './resolution.ts';

/** An action that an open incident allows at this moment. */
export interface Allowed {
  action: Action;
  /** As it would write them. */
  postings: PlannedPosting[];
  /** The sum of what they move, in cents. */
  movedCents: number;
  /** Names exactly this act with these postings. */
  shown: string;
}

/** The act as its hash has it. */
const actOf = (id: string, action: Action): readonly string[] => ['incident.resolve', id, action];

/** One of them. @throws OperatorRefused it is not allowed */
export async function shownAction(
  operator: Operator,
  id: string,
  action: Action,
  decider: Decider = 'operator',
): Promise<Allowed> {
  const postings = await rehearseAct(operator, (one) =>
    resolveIncident(one, id, { action, reason: 'rehearsed', decider }),
  );
  return {
    action,
    postings,
    movedCents: movedCents(postings),
    shown: hashOfShown(actOf(id, action), postings),
  };
}

/** @throws RehearsalBusy other work was in the way: which actions are allowed is not known */
export async function allowedActions(
  operator: Operator,
  id: string,
  among: readonly Action[] = actions,
  decider: Decider = 'operator',
): Promise<Allowed[]> {
  const allowed: Allowed[] = [];
  for (const action of among) {
    try {
      allowed.push(await shownAction(operator, id, action, decider));
    } catch (error) {
      if (!(error instanceof OperatorRefused) || error instanceof RehearsalBusy) throw error;
    }
  }
  return allowed;
}

/**
 * Resolves an incident with the postings that a person saw, and with no others.
 * @throws FactsChanged it would post something else now; MovesTooMuch; OperatorRefused as `resolveIncident`
 */
export const resolveAsShown = (
  operator: Operator,
  id: string,
  wanted: { action: Action; reason: string; decider?: Decider },
  agreed: Agreed,
): Promise<IncidentView> =>
  resolveIncident(onlyAsShown(operator, actOf(id, wanted.action), agreed), id, wanted);
