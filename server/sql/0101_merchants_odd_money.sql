-- compatibleFrom: 0.1.0
-- Which odd money the people of an account decide about themselves, and up to which amount of one Pix. None: the operator decides.
ALTER TABLE account
  ADD COLUMN merchant_odd_kinds text[] NOT NULL DEFAULT '{}',
  ADD COLUMN merchant_odd_most_cents bigint NOT NULL DEFAULT 0,
  ADD CONSTRAINT account_merchant_odd_kinds CHECK
    (merchant_odd_kinds <@ ARRAY['amount_mismatch', 'second_payment', 'failed_charge_paid', 'return_refused']),
  ADD CONSTRAINT account_merchant_odd_most CHECK
    (merchant_odd_most_cents >= 0 AND (merchant_odd_most_cents > 0) = (cardinality(merchant_odd_kinds) > 0));
