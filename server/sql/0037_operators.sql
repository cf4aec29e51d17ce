-- compatibleFrom: 0.1.0
-- People who run the installation and sign in to the console. Apart from panel_user: a person of a merchant never becomes an operator by a row of theirs.
CREATE TABLE operator_person (
  id                     uuid PRIMARY KEY,
  email                  text NOT NULL UNIQUE,
  name                   text NOT NULL,
  role                   text NOT NULL CHECK (role IN ('support', 'risk', 'treasury', 'administrator', 'auditor')),
  created_at             timestamptz NOT NULL,
  -- SHA-256 of the secret in the link of the invitation; null: none waits.
  invitation_hash        bytea UNIQUE,
  invitation_expires_at  timestamptz,
  -- Hashed with Argon2id; null until the invitation was accepted.
  password               text,
  -- Secret of the authenticator app, sealed; before `enrolled_at` the one that was shown last.
  app_secret             bytea,
  -- The last 30 second step whose code was accepted (RFC 6238, 5.2: a code is accepted once).
  app_step               bigint,
  enrolled_at            timestamptz,
  suspended_at           timestamptz,
  CHECK ((invitation_hash IS NULL) = (invitation_expires_at IS NULL)),
  CHECK (enrolled_at IS NULL OR (password IS NOT NULL AND app_secret IS NOT NULL))
);
GRANT SELECT, INSERT, UPDATE ON operator_person TO vintem_app;

CREATE TABLE operator_session (
  id           uuid PRIMARY KEY,
  operator_id  uuid NOT NULL REFERENCES operator_person,
  -- SHA-256 of the cookie's token: 256 random bits need no slow hash.
  token_hash   bytea NOT NULL UNIQUE,
  -- The network that it began in: it opens nothing from another one.
  network      text NOT NULL,
  created_at   timestamptz NOT NULL,
  expires_at   timestamptz NOT NULL,
  -- The last request, noted at most once a minute.
  seen_at      timestamptz NOT NULL
);
CREATE INDEX operator_session_operator ON operator_session (operator_id);
CREATE INDEX operator_session_expires_at ON operator_session (expires_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_session TO vintem_app;
