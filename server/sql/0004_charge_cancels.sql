-- compatibleFrom: 0.1.0
-- cells
-- That a merchant asked to cancel a charge: one for each charge, open as long as the charge is. What became of it stands in the charge.
CREATE TABLE charge_cancel (
  account_id    uuid NOT NULL,
  -- A function of account and charge, which the provider never sees.
  id            uuid NOT NULL,
  operation_id  uuid NOT NULL,
  -- The charge.
  payment_id    uuid NOT NULL,
  status        text NOT NULL CHECK (status IN ('unknown', 'completed')),
  amount_cents  bigint NOT NULL CHECK (amount_cents > 0),
  fingerprint   bytea NOT NULL,
  created_at    timestamptz NOT NULL,
  updated_at    timestamptz NOT NULL CHECK (updated_at >= created_at),
  -- The random token of the command that created it.
  command       uuid NOT NULL,
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, payment_id)
) WITH (fillfactor = 80);
GRANT SELECT, INSERT, UPDATE ON charge_cancel TO vintem_app;

-- The rows that are there pass the narrower check that they were written under.
ALTER TABLE intent DROP CONSTRAINT intent_kind_check;
ALTER TABLE intent ADD CONSTRAINT intent_kind_check CHECK (kind IN ('deposit', 'transfer', 'refund', 'cancel')) NOT VALID;
