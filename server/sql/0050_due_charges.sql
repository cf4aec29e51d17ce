-- compatibleFrom: 0.1.0
-- cells
-- Charges with a due date. What was asked for stands in `amount_cents`; the terms, and what was received with the parts that the provider named, stand
-- in `due` (`money/due.ts`). Null: it has no due date.
ALTER TABLE payment ADD COLUMN due jsonb;
-- The payer's name, document and address as they go to the provider, sealed with the payment's id as context.
ALTER TABLE payment ADD COLUMN payer bytea;
ALTER TABLE payment ADD CONSTRAINT payment_due CHECK (CASE
  WHEN due IS NULL THEN payer IS NULL
  ELSE kind = 'deposit' AND payer IS NOT NULL AND card IS NULL AND static_code_id IS NULL
    AND jsonb_typeof(due) = 'object' AND (jsonb_typeof(due -> 'paid') = 'null' OR status = 'paid') END) NOT VALID;

ALTER TABLE intent DROP CONSTRAINT intent_kind_check;
ALTER TABLE intent ADD CONSTRAINT intent_kind_check
  CHECK (kind IN ('deposit', 'due_charge', 'transfer', 'refund', 'cancel', 'checkout')) NOT VALID;
