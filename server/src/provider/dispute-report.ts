export type DisputeStatus = 'open' | 'defending' | 'accepted' | 'rejected' | 'cancelled';

/** The provider's report of a dispute (MED) of a received Pix. */
export interface DisputeReport {
  /** The provider's id. */
  providerId: string;
  /** Of the Pix. */
  endToEnd: string;
  amountCents: number;
  status: DisputeStatus;
  /** The provider's word for why; null when it gives none. */
  reason: string | null;
  openedAt: number;
  /** Until when a defence is taken; null when the provider does not say it. */
  deadlineAt: number | null;
  /** Taken for it and not given back, without costs; absent: a list of this provider does not say it. */
  debitedCents?: number;
}
