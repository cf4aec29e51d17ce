-- compatibleFrom: 0.1.0
-- cells
-- What a merchant gives of the payer of a card payment stands in `payer`, sealed as that of a charge with a due date.
ALTER TABLE payment DROP CONSTRAINT payment_due;
ALTER TABLE payment ADD CONSTRAINT payment_due CHECK (CASE
  WHEN due IS NULL THEN payer IS NULL OR card IS NOT NULL
  ELSE kind = 'deposit' AND payer IS NOT NULL AND card IS NULL AND static_code_id IS NULL
    AND jsonb_typeof(due) = 'object' AND (jsonb_typeof(due -> 'paid') = 'null' OR status = 'paid') END) NOT VALID;
