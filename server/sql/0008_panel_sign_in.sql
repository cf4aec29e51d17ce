-- A password alone gives the session of someone who has passkeys and no authenticator app: such a session moves no money.
ALTER TABLE panel_session ADD COLUMN by_passkey boolean NOT NULL DEFAULT false;

-- From where a person has signed in before: anything else is told to them by mail. SHA-256 over address and browser.
CREATE TABLE panel_place (
  user_id   uuid NOT NULL REFERENCES panel_user ON DELETE CASCADE,
  place     bytea NOT NULL,
  since     timestamptz NOT NULL,
  PRIMARY KEY (user_id, place)
);

-- A new address of a person, until the link that was mailed there is opened. One at a time.
CREATE TABLE panel_new_email (
  user_id     uuid PRIMARY KEY REFERENCES panel_user ON DELETE CASCADE,
  email       text NOT NULL,
  -- SHA-256 of the secret in the link: 256 random bits need no slow hash.
  token_hash  bytea NOT NULL UNIQUE,
  expires_at  timestamptz NOT NULL
);

GRANT SELECT, INSERT, DELETE ON panel_place TO vintem_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON panel_new_email TO vintem_app;
