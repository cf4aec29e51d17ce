-- compatibleFrom: 0.1.0
-- cells
-- A static code that a merchant prints: payers pay it as often as they like. What it has brought is kept beside it, so that no list counts payments.
CREATE TABLE static_code (
  account_id    uuid NOT NULL,
  id            uuid NOT NULL,
  operation_id  uuid NOT NULL,
  name          text NOT NULL CHECK (length(name) BETWEEN 2 AND 64),
  -- Field 62-05 of the code: S and 24 letters or digits.
  identifier    text NOT NULL CHECK (identifier ~ '^S[A-Z2-7]{24}$'),
  -- Null: the payer types it.
  amount_cents  bigint CHECK (amount_cents > 0),
  -- The connection whose Pix key it pays into, for its whole life.
  connection    text NOT NULL,
  -- Null: a provider that makes its codes itself has not answered yet.
  copy_paste    text,
  status        text NOT NULL CHECK (status IN ('active', 'retired')),
  metadata      jsonb CHECK (jsonb_typeof(metadata) = 'object'),
  request_key   uuid NOT NULL,
  paid_count    bigint NOT NULL DEFAULT 0 CHECK (paid_count >= 0),
  paid_cents    bigint NOT NULL DEFAULT 0 CHECK (paid_cents >= 0),
  created_at    timestamptz NOT NULL,
  updated_at    timestamptz NOT NULL CHECK (updated_at >= created_at),
  PRIMARY KEY (account_id, id),
  CHECK ((paid_count = 0) = (paid_cents = 0))
);
CREATE INDEX static_code_list ON static_code (account_id, operation_id, created_at, id);
GRANT SELECT, INSERT, UPDATE ON static_code TO vintem_app;

-- The static code or the payment link that a charge was paid or made by; null: neither.
ALTER TABLE payment ADD COLUMN static_code_id uuid;
ALTER TABLE payment ADD COLUMN payment_link_id uuid;
