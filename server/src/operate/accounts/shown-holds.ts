import { type Agreed, hashOfShown, movedCents, onlyAsShown } from '../../store/as-shown.ts';
import type { Operator } from '../../store/operator.ts';
import { type PlannedPosting, rehearseAct } from '../../store/rehearsal.ts';
import { type HoldView, placeHold, releaseHold } from './holds.ts';

/** An act on a hold as a person sees it before it is done. */
export interface ShownHold {
  postings: PlannedPosting[];
  /** The sum of what they move, in cents. */
  movedCents: number;
  /** Names exactly this act with these postings. */
  shown: string;
}

type Wanted = { operationId: string; amountCents: number };

/** The acts as their hash has them. */
const placed = ({ operationId, amountCents }: Wanted) => ['hold.place', operationId, String(amountCents)];
const released = (id: string) => ['hold.release', id];

async function shownAs(
  act: readonly string[],
  operator: Operator,
  run: (operator: Operator) => Promise<unknown>,
): Promise<ShownHold> {
  const postings = await rehearseAct(operator, run);
  return { postings, movedCents: movedCents(postings), shown: hashOfShown(act, postings) };
}

/** @throws OperatorRefused no such operation; RehearsalBusy */
export const shownPlace = (operator: Operator, wanted: Wanted): Promise<ShownHold> =>
  shownAs(placed(wanted), operator, (one) => placeHold(one, { ...wanted, reason: 'rehearsed' }));

/** @throws OperatorRefused no such hold; RehearsalBusy */
export const shownRelease = (operator: Operator, id: string): Promise<ShownHold> =>
  shownAs(released(id), operator, (one) => releaseHold(one, id));

/** @throws FactsChanged it would post something else now; OperatorRefused no such operation */
export const placeAsShown = (
  operator: Operator,
  wanted: Wanted & { reason: string; requestKey: string },
  shown: string,
): Promise<HoldView> =>
  placeHold(onlyAsShown(operator, placed(wanted), { shown, mostCents: Number.MAX_SAFE_INTEGER }), wanted);

/** @throws FactsChanged it would post something else now; OperatorRefused no such hold */
export const releaseAsShown = (
  operator: Operator,
  id: string,
  reason: string,
  agreed: Agreed,
): Promise<HoldView> => releaseHold(onlyAsShown(operator, released(id), agreed), id, reason);
