/** The turns of a payment beside its own state. */
export const marks = ['disputed', 'dispute_lost', 'odd', 'refunded', 'partly_refunded', 'returned'] as const;
export type Mark = (typeof marks)[number];

/** The marks that a list is filtered by: `refunded` in whole or in part, `disputed` decided or not. */
export const filterMarks = ['refunded', 'disputed', 'odd', 'returned'] as const;
export type FilterMark = (typeof filterMarks)[number];

/** Which end of a list of payments stands first, by their creation. */
export const recordOrders = ['newest', 'oldest'] as const;
export type RecordOrder = (typeof recordOrders)[number];
