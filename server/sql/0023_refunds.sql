-- An older program would take the return of a refund for money that the provider took back, and post it a second time: it must not run beside.
-- Received Pix that are given back to their payers, in whole or in part.
CREATE TABLE refund (
  account_id    uuid NOT NULL,
  -- A function of account and request key, as a payment's. Without hyphens it is the return's `id` at the provider.
  id            uuid NOT NULL,
  operation_id  uuid NOT NULL,
  -- The charge.
  payment_id    uuid NOT NULL,
  -- The received Pix that is returned.
  end_to_end    text NOT NULL,
  reason        text NOT NULL CHECK (reason IN ('requested')),
  status        text NOT NULL CHECK (status IN ('unknown', 'pending', 'completed', 'failed')),
  amount_cents  bigint NOT NULL CHECK (amount_cents > 0),
  description   text NOT NULL,
  request_key   uuid NOT NULL,
  fingerprint   bytea NOT NULL,
  -- `rtrId` of API Pix, once the provider has named it.
  rtr_id        text,
  reason_code   text,
  created_at    timestamptz NOT NULL,
  updated_at    timestamptz NOT NULL CHECK (updated_at >= created_at),
  settled_at    timestamptz,
  -- Every state entered: [{status, at, cause}].
  history       jsonb NOT NULL,
  -- The random token of the command that created it.
  command       uuid NOT NULL,
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, request_key),
  CHECK ((status = 'completed') = (settled_at IS NOT NULL))
) WITH (fillfactor = 80);
CREATE INDEX refund_payment ON refund (account_id, payment_id, created_at, id);
GRANT SELECT, INSERT, UPDATE ON refund TO vintem_app;

-- What of a charge its refunds have given back.
ALTER TABLE payment ADD COLUMN refunded_cents bigint NOT NULL DEFAULT 0 CHECK (refunded_cents >= 0);

-- Refunds are sent and followed like payments; `payment_id` is then the refund's id. Priority 3: queries of refunds.
ALTER TABLE intent DROP CONSTRAINT intent_kind_check;
ALTER TABLE intent ADD CONSTRAINT intent_kind_check CHECK (kind IN ('deposit', 'transfer', 'refund'));
-- Where a provider limits parallel sends, what it does not limit is found without reading all transfers that wait for a slot.
CREATE INDEX intent_due_unlimited ON intent (connection, due_at) WHERE priority = 0 AND kind IN ('deposit', 'refund');
DROP INDEX intent_due_charge;
