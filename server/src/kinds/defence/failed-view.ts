import type { DefenceReason } from '../../money/defence.ts';
import type { DisputeView } from '../dispute/view.ts';

/** The dispute as it stands, and why its defence failed. */
export const viewOfFailedDefence = (dispute: DisputeView, reason: DefenceReason) => ({
  ...dispute,
  defence: { status: 'failed' as const, reasonCode: reason },
});
