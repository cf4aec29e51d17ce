import type { SentKind } from '../../money/sent-kinds.ts';
import { cancel } from '../cancel/cancel.ts';
import { charge } from '../charge/charge.ts';
import { checkout } from '../checkout/checkout.ts';
import { defence } from '../defence/defence.ts';
import { dueChange } from '../due-change/due-change.ts';
import { dueCharge } from '../due-charge/due-charge.ts';
import type { AnyKind } from '../kind.ts';
import { refund } from '../refund/refund.ts';
import { transfer } from '../transfer/transfer.ts';

/** Every kind of what is sent to a provider: one line each. */
const kinds: Readonly<Record<SentKind, AnyKind>> = {
  deposit: charge,
  due_charge: dueCharge,
  transfer,
  refund,
  cancel,
  checkout,
  due_change: dueChange,
  defence,
};

/** The kinds that are requests about charges. */
export const requestsAboutCharges = Object.values(kinds).flatMap(({ name, table, request }) =>
  request === undefined ? [] : [{ name, table, request }],
);

export const kindOf = (name: SentKind): AnyKind => kinds[name];
