-- compatibleFrom: 0.1.0
-- Until when an owner of the account lets operators see its panel; no row: not at all.
CREATE TABLE support_grant (
  account_id  uuid PRIMARY KEY REFERENCES account,
  granted_by  uuid NOT NULL REFERENCES panel_user,
  granted_at  timestamptz NOT NULL,
  until_at    timestamptz NOT NULL,
  CONSTRAINT support_grant_time CHECK (until_at >= granted_at + interval '30 minutes' AND until_at <= granted_at + interval '7 days')
);
GRANT SELECT, INSERT, UPDATE, DELETE ON support_grant TO vintem_app;

-- Support views: an operator sees the panel of an account, and changes nothing there.
CREATE TABLE support_view (
  id           uuid PRIMARY KEY,
  account_id   uuid NOT NULL REFERENCES account,
  operator_id  uuid NOT NULL REFERENCES operator_person,
  -- Of operator_session, whose rows are removed: the view ends with it.
  session_id   uuid NOT NULL,
  -- SHA-256 of the cookie's token.
  token_hash   bytea NOT NULL UNIQUE,
  -- The role that it began with: with another one it ends.
  role         text NOT NULL,
  reason       text NOT NULL CHECK (char_length(reason) BETWEEN 5 AND 200),
  -- Under a grant, else after a mail to the owners.
  granted      boolean NOT NULL,
  begun_at     timestamptz NOT NULL,
  ends_at      timestamptz NOT NULL,
  -- Before its time, by the operator or by the account.
  ended_at     timestamptz,
  CONSTRAINT support_view_time CHECK (ends_at > begun_at AND ends_at <= begun_at + interval '30 minutes')
);
CREATE INDEX support_view_of_account ON support_view (account_id, begun_at DESC);
CREATE INDEX support_view_of_session ON support_view (session_id);
GRANT SELECT, INSERT, UPDATE ON support_view TO vintem_app;
