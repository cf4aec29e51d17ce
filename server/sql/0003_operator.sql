-- What operators do: administrative holds, checkpoints of the ledger, the audit log.

-- What an operator wants kept back of an operation's balance. How much of it is captured stands in the balance row alone
-- (held, hold_wanted), over all holds together: it changes with every credit, and those lock nothing but that row.
CREATE TABLE hold (
  account_id       uuid NOT NULL,
  -- The token of the command that placed it.
  id               uuid NOT NULL,
  operation_id     uuid NOT NULL,
  wanted_cents     bigint NOT NULL CHECK (wanted_cents > 0),
  reason           text NOT NULL,
  placed_by        text NOT NULL,
  placed_at        timestamptz NOT NULL,
  released_at      timestamptz,
  PRIMARY KEY (account_id, id)
);
CREATE INDEX hold_open ON hold (account_id, operation_id, placed_at, id) WHERE released_at IS NULL;

-- A chain's sums at a seq: written only by a pass that re-summed the chain from the checkpoint before.
CREATE TABLE checkpoint (
  account_id     uuid NOT NULL,
  chain_id       uuid NOT NULL,
  seq            bigint NOT NULL CHECK (seq > 0),
  head           bytea NOT NULL,
  available      bigint NOT NULL,
  reserved       bigint NOT NULL,
  held           bigint NOT NULL,
  receivable     bigint NOT NULL,
  clearing       bigint NOT NULL,
  fee_revenue    bigint NOT NULL,
  provider_cost  bigint NOT NULL,
  suspense       bigint NOT NULL,
  adjustments    bigint NOT NULL,
  created_at     timestamptz NOT NULL,
  PRIMARY KEY (account_id, chain_id, seq)
);

-- Who changed what, and why. What concerns the whole installation stands under its own account.
CREATE TABLE audit (
  account_id  uuid NOT NULL,
  id          uuid NOT NULL,
  at          timestamptz NOT NULL,
  actor       text NOT NULL,
  action      text NOT NULL,
  subject     text NOT NULL,
  reason      text,
  detail      jsonb NOT NULL,
  PRIMARY KEY (account_id, id)
);

-- An operator names an operation or an incident by its id alone.
CREATE INDEX operation_by_id ON operation (id);
CREATE INDEX incident_by_id ON incident (id);
CREATE INDEX hold_by_id ON hold (id);

GRANT SELECT, INSERT, UPDATE ON hold TO vintem_app;
-- What is written once stays.
GRANT SELECT, INSERT ON checkpoint, audit TO vintem_app;
