/** The turns of a payment beside its own state. */
export const marks = ['disputed', 'dispute_lost', 'odd', 'refunded', 'partly_refunded', 'returned'] as const;
export type Mark = (typeof marks)[number];

/** The marks that a list is filtered by: `refunded` in whole or in part, `disputed` decided or not. */
export const filterMarks = ['refunded', 'disputed', 'odd', 'returned'] as const;
export type FilterMark = (typeof filterMarks)[number];

/** The date that a list of payments, and a period of it, go by. */
export const recordDates = ['created', 'paid'] as const;
export type RecordDate = (typeof recordDates)[number];

/** Which end of a list of payments stands first, by that date. */
export const dateOrders = ['newest', 'oldest'] as const;
export type DateOrder = (typeof dateOrders)[number];

/** The same by their amounts. */
export const amountOrders = ['largest', 'smallest'] as const;
export type AmountOrder = (typeof amountOrders)[number];

export type RecordOrder = DateOrder | AmountOrder;
