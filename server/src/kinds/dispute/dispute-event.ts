import type { Dispute, DisputeStep } from '../../money/dispute.ts';
import type { Ids } from '../../ports/ids.ts';
import { eventRow } from '../../store/events/event.ts';
import { viewOfDispute } from './view.ts';

/** The event of a dispute that entered a state. @param known as it was before; undefined: it is new */
export const disputeEvent = (
  ids: Pick<Ids, 'uuid'>,
  livemode: boolean,
  { dispute, event }: DisputeStep,
  known: Dispute | undefined,
  heldCents: number,
) =>
  eventRow(ids, {
    accountId: dispute.accountId,
    operationId: dispute.operationId,
    paymentId: dispute.paymentId,
    type: event as NonNullable<DisputeStep['event']>,
    livemode,
    change: { from: known?.status ?? null, to: dispute.status },
    data: viewOfDispute(dispute, heldCents),
    at: dispute.updatedAt,
  });
