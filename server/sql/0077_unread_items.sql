-- compatibleFrom: 0.1.0
-- What a provider sent and no reader could read, kept until it can be read or a person has dealt with it.
CREATE TABLE unread_item (
  id               uuid PRIMARY KEY,
  connection       text NOT NULL REFERENCES connection,
  kind             text NOT NULL CHECK (kind IN
    ('charge', 'payout', 'received', 'sent', 'refund', 'return', 'dispute', 'report', 'delivery', 'span')),
  -- What it is known by: an id that stands in it, or the hash of its body.
  reference        text NOT NULL,
  provider_id      text,
  end_to_end       text,
  -- As it came, sealed: at most 16 KiB of it.
  body             bytea NOT NULL,
  first_seen_at    timestamptz NOT NULL,
  seen_at          timestamptz NOT NULL,
  tries            integer NOT NULL,
  -- When it is asked for again; a lease as well.
  next_at          timestamptz NOT NULL,
  -- From when on it is an incident.
  incident_due_at  timestamptz NOT NULL,
  -- The incident that names it; null: none does yet.
  incident_id      uuid,
  -- A person has dealt with it: it stays known for as long as the provider sends it.
  dismissed_at     timestamptz,
  UNIQUE (connection, kind, reference)
);
CREATE INDEX unread_item_due ON unread_item (connection, next_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON unread_item TO vintem_app;
