-- Lines of the provider's statement that have no answer yet, each with its own retries, so that none of them stops the reading.
CREATE TABLE statement_line (
  connection     text NOT NULL REFERENCES connection,
  -- `reported`: a return that a day report names.
  kind           text NOT NULL CHECK (kind IN ('received', 'sent', 'returned', 'debited', 'reported')),
  -- The provider's id of the movement.
  reference      text NOT NULL,
  -- Null where a report does not say it.
  amount_cents   bigint,
  -- Of a return that has one.
  rtr_id         text,
  end_to_end     text,
  provider_id    text,
  moved_at       timestamptz NOT NULL,
  first_seen_at  timestamptz NOT NULL,
  tries          integer NOT NULL,
  -- When it is looked up next; a lease as well.
  next_at        timestamptz NOT NULL,
  -- Why the last try had no answer; null: there was none yet.
  problem        text,
  PRIMARY KEY (connection, kind, reference)
);
CREATE INDEX statement_line_due ON statement_line (connection, next_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON statement_line TO vintem_app;

-- The day whose report is read next, the report that was requested for it, and when that is looked at again (a lease as well).
ALTER TABLE connection ADD COLUMN report_day date, ADD COLUMN report_id text, ADD COLUMN report_due_at timestamptz;
