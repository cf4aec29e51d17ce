-- compatibleFrom: 0.1.0
-- A person may belong to several accounts. Each account sees and ends access to itself, and nothing else of a session.

-- Sessions that began before then no longer open this account; null: each of the person's sessions does.
ALTER TABLE panel_member ADD COLUMN sessions_since timestamptz;

-- Which accounts a session was used in.
CREATE TABLE panel_session_access (
  session_id  uuid NOT NULL REFERENCES panel_session ON DELETE CASCADE,
  account_id  uuid NOT NULL,
  since       timestamptz NOT NULL,
  seen_at     timestamptz NOT NULL,
  PRIMARY KEY (session_id, account_id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON panel_session_access TO vintem_app;
