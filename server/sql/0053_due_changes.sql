-- compatibleFrom: 0.1.0
-- cells
-- That a merchant asked to change a charge with a due date, open until its provider shows the charge so, has refused it, or the charge has ended. What became
-- of it stands in the charge (`due`).
CREATE TABLE due_change (
  account_id    uuid NOT NULL,
  -- A function of account, charge and change, which the provider never sees.
  id            uuid NOT NULL,
  operation_id  uuid NOT NULL,
  -- The charge.
  payment_id    uuid NOT NULL,
  status        text NOT NULL CHECK (status IN ('unknown', 'completed')),
  -- Of the charge after it.
  amount_cents  bigint NOT NULL CHECK (amount_cents > 0),
  fingerprint   bytea NOT NULL,
  created_at    timestamptz NOT NULL,
  updated_at    timestamptz NOT NULL CHECK (updated_at >= created_at),
  -- The random token of the command that created it.
  command       uuid NOT NULL,
  PRIMARY KEY (account_id, id)
) WITH (fillfactor = 80);
CREATE INDEX due_change_of_payment ON due_change (account_id, payment_id);
-- One at a time.
CREATE UNIQUE INDEX due_change_open ON due_change (account_id, payment_id) WHERE status = 'unknown';
GRANT SELECT, INSERT, UPDATE ON due_change TO vintem_app;

-- The rows that are there pass the narrower check that they were written under.
ALTER TABLE intent DROP CONSTRAINT intent_kind_check;
ALTER TABLE intent ADD CONSTRAINT intent_kind_check
  CHECK (kind IN ('deposit', 'due_charge', 'transfer', 'refund', 'cancel', 'checkout', 'due_change')) NOT VALID;
