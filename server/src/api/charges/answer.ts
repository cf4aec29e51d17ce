import type { CellOf, RouteFacts } from '../../edge/edge.ts';
import { type AcceptDeps, accept } from '../../flow/accept.ts';
import type { Caller } from '../../ground/caller.ts';
import type { Language } from '../../ground/errors.ts';
import type { PageAddresses } from '../../ground/page-address.ts';
import type { KindOf } from '../../kinds/kind.ts';
import { type PaymentView, viewWithCode } from '../../kinds/payment/view.ts';
import type { Payment } from '../../money/payment.ts';
import { type OperationDirectory, onCurrentOperation } from '../operations/operations.ts';

type Parts = AcceptDeps & { directory: OperationDirectory; pages: PageAddresses };

export type ChargeCells = CellOf<Parts>;

/** Of a route about a charge. */
export const chargeFacts = {
  permissions: ['charges'],
  policy: 'charges',
  operation: 'resolve',
} as const satisfies RouteFacts;

interface Asked {
  cell: string;
  caller: Caller;
  language: Language;
}

/** @returns the charge that a call on its caller's operation is about */
export async function answered(
  cellOf: ChargeCells,
  request: Asked,
  call: (cell: Parts, caller: Caller) => Promise<Payment>,
): Promise<PaymentView> {
  const charge = await onCurrentOperation(cellOf, request, call);
  return viewWithCode(charge, cellOf(request).pages, request.language);
}

/** Creates a charge of a kind, or finds the one that an earlier request created. */
export const created = <Order extends { requestKey: string }>(
  cellOf: ChargeCells,
  request: Asked,
  reply: { header(name: string, value: string): unknown },
  kind: KindOf<Payment, Order>,
  order: Order,
): Promise<PaymentView> =>
  answered(cellOf, request, async (cell, caller) => {
    const { row, replayed } = await accept(cell, kind, caller, order);
    if (replayed) reply.header('idempotent-replayed', 'true');
    return row;
  });
