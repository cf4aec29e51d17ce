-- compatibleFrom: 0.1.0
-- cells
-- The payment whose dispute placed a hold. Statement and payment page name it also after the dispute has ended and has let the hold go: the
-- dispute names its hold only as long as it is there.
ALTER TABLE hold ADD COLUMN payment_id uuid;
UPDATE hold SET payment_id = substring(reason FROM '[0-9a-f-]{36}$')::uuid
  WHERE placed_by = 'dispute' AND reason ~ '^dispute of payment [0-9a-f-]{36}$';
CREATE INDEX hold_payment ON hold (account_id, payment_id) WHERE payment_id IS NOT NULL;
