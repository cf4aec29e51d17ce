-- compatibleFrom: 0.1.0
-- The daily close: what a day in São Paulo was, written once when it is over. The service may only insert these rows.

-- Of an operation, or of an account's own chain (under the account's id).
CREATE TABLE day_close (
  account_id        uuid NOT NULL,
  chain_id          uuid NOT NULL,
  day               date NOT NULL,
  -- The close before it; null: it is the first one of this chain.
  previous_day      date,
  -- The journals of the day are those after `opening_seq` up to `closing_seq`. What is posted late is in the day after.
  opening_seq       bigint NOT NULL CHECK (opening_seq >= 0),
  closing_seq       bigint NOT NULL,
  -- The hash of the journal `closing_seq`.
  head              bytea NOT NULL,
  -- Balances are what is available less what is owed. What came back of the same kind is taken off: a cancelled transfer, a failed refund, a released hold.
  opening_cents     bigint NOT NULL,
  in_cents          bigint NOT NULL,
  out_cents         bigint NOT NULL,
  fee_cents         bigint NOT NULL,
  refund_cents      bigint NOT NULL,
  hold_cents        bigint NOT NULL,
  closing_cents     bigint NOT NULL,
  -- The columns at the end of the day.
  available         bigint NOT NULL CHECK (available >= 0),
  reserved          bigint NOT NULL CHECK (reserved >= 0),
  held              bigint NOT NULL CHECK (held >= 0),
  receivable        bigint NOT NULL CHECK (receivable >= 0),
  closed_at         timestamptz NOT NULL,
  command           uuid NOT NULL,
  PRIMARY KEY (account_id, chain_id, day),
  -- One row after the other, whoever writes them: none between two others, none before the first.
  CONSTRAINT day_close_next UNIQUE NULLS NOT DISTINCT (account_id, chain_id, previous_day),
  CONSTRAINT day_close_previous FOREIGN KEY (account_id, chain_id, previous_day) REFERENCES day_close,
  CONSTRAINT day_close_order CHECK (previous_day < day),
  CONSTRAINT day_close_seq CHECK (closing_seq >= opening_seq),
  CONSTRAINT day_close_sum CHECK (opening_cents + in_cents - out_cents - fee_cents - refund_cents - hold_cents = closing_cents),
  CONSTRAINT day_close_columns CHECK (closing_cents = available - receivable)
);

-- What a day of a chain moved at a connection; only where something moved.
CREATE TABLE day_close_money (
  account_id     uuid NOT NULL,
  chain_id       uuid NOT NULL,
  day            date NOT NULL,
  connection     text NOT NULL,
  -- From before the first close of this chain; 0 in every later one.
  opening_cents  bigint NOT NULL,
  in_cents       bigint NOT NULL CHECK (in_cents >= 0),
  out_cents      bigint NOT NULL CHECK (out_cents >= 0),
  refund_cents   bigint NOT NULL CHECK (refund_cents >= 0),
  -- Earned; it stays in the provider's account.
  fee_cents      bigint NOT NULL,
  PRIMARY KEY (account_id, chain_id, day, connection),
  FOREIGN KEY (account_id, chain_id, day) REFERENCES day_close
);
CREATE INDEX day_close_money_connection ON day_close_money (connection, day);

-- Of a connection: the books beside the provider's account.
CREATE TABLE connection_close (
  connection         text NOT NULL,
  day                date NOT NULL,
  previous_day       date,
  opening_cents      bigint NOT NULL,
  in_cents           bigint NOT NULL CHECK (in_cents >= 0),
  out_cents          bigint NOT NULL CHECK (out_cents >= 0),
  refund_cents       bigint NOT NULL CHECK (refund_cents >= 0),
  fee_cents          bigint NOT NULL,
  -- Of the accounts that are bound to it, at the end of the day.
  held_cents         bigint NOT NULL CHECK (held_cents >= 0),
  -- What the provider's account should have held at the end of the day.
  closing_cents      bigint NOT NULL,
  -- What moved since, up to the moment of the comparison, and what of open transfers had left the provider's account already.
  since_cents        bigint,
  in_transit_cents   bigint,
  -- Null: the provider offers no balance, or it could not be compared.
  provider_cents     bigint,
  -- What the provider has more than the books; a difference that the day before had already is no new one.
  difference_cents   bigint,
  compared_at        timestamptz,
  -- Of a new difference.
  incident_id        uuid,
  closed_at          timestamptz NOT NULL,
  -- Over the row, the heads of the chains that moved, and the hash before.
  head               bytea NOT NULL,
  PRIMARY KEY (connection, day),
  CONSTRAINT connection_close_next UNIQUE NULLS NOT DISTINCT (connection, previous_day),
  CONSTRAINT connection_close_previous FOREIGN KEY (connection, previous_day) REFERENCES connection_close,
  CONSTRAINT connection_close_order CHECK (previous_day < day),
  CONSTRAINT connection_close_sum CHECK (opening_cents + in_cents - out_cents - refund_cents = closing_cents),
  CONSTRAINT connection_close_compared CHECK ((provider_cents IS NULL) = (difference_cents IS NULL)
    AND (provider_cents IS NULL) = (since_cents IS NULL) AND (provider_cents IS NULL) = (in_transit_cents IS NULL)
    AND (provider_cents IS NULL) = (compared_at IS NULL)),
  CONSTRAINT connection_close_difference CHECK (difference_cents = provider_cents + in_transit_cents - closing_cents - since_cents)
);
GRANT SELECT, INSERT ON day_close, day_close_money, connection_close TO vintem_app;

-- Up to which day every chain is closed, and when a process looks again; a lease as well.
ALTER TABLE installation ADD COLUMN closed_day date;
ALTER TABLE installation ADD COLUMN close_due_at timestamptz;
