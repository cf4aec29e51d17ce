-- compatibleFrom: 0.1.0
-- Disputes (MED) of Pix that charges received, as the provider reports them.
CREATE TABLE dispute (
  account_id    uuid NOT NULL REFERENCES account,
  -- UUIDv7: in the order in which we heard of them.
  id            uuid NOT NULL,
  payment_id    uuid NOT NULL,
  operation_id  uuid NOT NULL,
  connection    text NOT NULL,
  -- The provider's id of it: one dispute for each.
  provider_id   text NOT NULL,
  end_to_end    text NOT NULL,
  amount_cents  bigint NOT NULL CHECK (amount_cents > 0),
  status        text NOT NULL CHECK (status IN ('open', 'defending', 'accepted', 'rejected', 'cancelled')),
  -- The provider's word for why.
  reason        text,
  opened_at     timestamptz NOT NULL,
  -- The provider's own; never computed.
  deadline_at   timestamptz,
  ended_at      timestamptz,
  -- What the provider has taken of the disputed amount.
  debited_cents bigint NOT NULL CHECK (debited_cents >= 0 AND debited_cents <= amount_cents),
  -- The hold of this Pix: all of its disputes share one, so that they never hold more than the Pix. Null: nothing was to be held.
  hold_id       uuid,
  created_at    timestamptz NOT NULL,
  updated_at    timestamptz NOT NULL,
  mail_due_at   timestamptz,
  PRIMARY KEY (account_id, id),
  UNIQUE (connection, provider_id)
);
CREATE INDEX dispute_payment ON dispute (account_id, payment_id);
CREATE INDEX dispute_operation ON dispute (account_id, operation_id, id);
CREATE INDEX dispute_mail ON dispute (mail_due_at) WHERE mail_due_at IS NOT NULL;
-- What the reading begins with: the oldest that the provider has not ended.
CREATE INDEX dispute_unended ON dispute (connection, opened_at) WHERE ended_at IS NULL;
GRANT SELECT, INSERT, UPDATE ON dispute TO vintem_app;

-- When the provider's disputes are read next; a lease as well.
ALTER TABLE connection ADD COLUMN disputes_due_at timestamptz;
