-- compatibleFrom: 0.1.0
-- cells
-- A link that payers open to make a charge of their own. What was made by it and what it has brought is counted in its row, which the command of a
-- charge reads and writes: no link is oversold by charges that wait.
CREATE TABLE payment_link (
  account_id     uuid NOT NULL,
  id             uuid NOT NULL,
  operation_id   uuid NOT NULL,
  title          text NOT NULL CHECK (length(title) BETWEEN 2 AND 100),
  description    text NOT NULL,
  -- Null: the payer types it, between the two below.
  amount_cents   bigint CHECK (amount_cents > 0),
  minimum_cents  bigint CHECK (minimum_cents > 0),
  maximum_cents  bigint CHECK (maximum_cents >= minimum_cents),
  -- Null: as many as come.
  max_payments   integer CHECK (max_payments > 0),
  name_field     text NOT NULL CHECK (name_field IN ('none', 'optional', 'required')),
  expires_at     timestamptz,
  success_url    text,
  metadata       jsonb CHECK (jsonb_typeof(metadata) = 'object'),
  -- `completed` and `expired` are entered by themselves, `disabled` by the merchant.
  status         text NOT NULL CHECK (status IN ('active', 'completed', 'expired', 'disabled')),
  request_key    uuid NOT NULL,
  -- Its charges that are `unknown` or `pending`.
  open_count     bigint NOT NULL DEFAULT 0 CHECK (open_count >= 0),
  paid_count     bigint NOT NULL DEFAULT 0 CHECK (paid_count >= 0),
  paid_cents     bigint NOT NULL DEFAULT 0 CHECK (paid_cents >= 0),
  created_at     timestamptz NOT NULL,
  updated_at     timestamptz NOT NULL CHECK (updated_at >= created_at),
  PRIMARY KEY (account_id, id),
  CHECK ((amount_cents IS NULL) = (minimum_cents IS NOT NULL) AND (minimum_cents IS NULL) = (maximum_cents IS NULL))
);
CREATE INDEX payment_link_list ON payment_link (account_id, operation_id, created_at, id);
CREATE INDEX payment_link_due ON payment_link (expires_at) WHERE status = 'active' AND expires_at IS NOT NULL;
-- Links for one payment that was made, while codes of other payers can still be paid: these are cancelled.
CREATE INDEX payment_link_sold ON payment_link (account_id, id) WHERE status = 'completed' AND max_payments = 1 AND open_count > 0;
GRANT SELECT, INSERT, UPDATE ON payment_link TO vintem_app;
