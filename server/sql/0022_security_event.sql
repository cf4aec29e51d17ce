-- compatibleFrom: 0.1.0
-- Security events of people's accounts: sign-ins, factors, passwords, keys, webhooks, people, refusals, exports. Kept for a year.
CREATE TABLE security_event (
  -- UUIDv7: ordered by time.
  id          uuid PRIMARY KEY,
  at          timestamptz NOT NULL,
  -- Null: it concerns a person and no single account.
  account_id  uuid,
  user_id     uuid,
  session_id  uuid,
  actor       text NOT NULL CHECK (actor IN ('person', 'operator')),
  kind        text NOT NULL,
  outcome     text NOT NULL CHECK (outcome IN ('ok', 'refused')),
  ip_address  text,
  detail      jsonb NOT NULL
);
CREATE INDEX security_event_account ON security_event (account_id, id) WHERE account_id IS NOT NULL;
CREATE INDEX security_event_user ON security_event (user_id, id) WHERE account_id IS NULL;

GRANT SELECT, INSERT, DELETE ON security_event TO vintem_app;
