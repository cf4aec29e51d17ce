-- compatibleFrom: 0.1.0
-- Whether a refund gives back its part of the charge's fee.
ALTER TABLE account ADD COLUMN refund_fees text NOT NULL DEFAULT 'kept' CONSTRAINT account_refund_fees_check
  CHECK (refund_fees IN ('kept', 'returned'));
