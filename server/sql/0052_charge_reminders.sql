-- compatibleFrom: 0.1.0
-- cells
-- Reminders by mail of a charge with a due date whose merchant asked for them. The payer's address stands sealed in the charge.
CREATE TABLE charge_reminder (
  account_id    uuid NOT NULL,
  -- The charge.
  payment_id    uuid NOT NULL,
  -- When the next one is sent; null: none is any more.
  due_at        timestamptz,
  sent_count    integer NOT NULL CHECK (sent_count BETWEEN 0 AND 3),
  PRIMARY KEY (account_id, payment_id)
) WITH (fillfactor = 80);
CREATE INDEX charge_reminder_due ON charge_reminder (due_at) WHERE due_at IS NOT NULL;
GRANT SELECT, INSERT, UPDATE ON charge_reminder TO vintem_app;

-- Payers who want no reminders of a merchant.
CREATE TABLE reminder_stop (
  account_id    uuid NOT NULL,
  -- HMAC-SHA-256 of the address under the installation's identity secret: the address itself is not kept.
  address       bytea NOT NULL CHECK (octet_length(address) = 32),
  stopped_at    timestamptz NOT NULL,
  PRIMARY KEY (account_id, address)
);
GRANT SELECT, INSERT ON reminder_stop TO vintem_app;
