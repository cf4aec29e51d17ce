-- cells
-- An older program would complete a refund without the fee that it brings back: it must not run beside.
-- What of the charge's fee comes back with the refund's completion, decided with its creation; null: the fee is kept.
ALTER TABLE refund ADD COLUMN fee_back_cents bigint CONSTRAINT refund_fee_back CHECK (fee_back_cents >= 0);
