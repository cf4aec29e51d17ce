-- compatibleFrom: 0.1.0
-- Passkeys of operators (WebAuthn), apart from those of the panel's people.
CREATE TABLE operator_passkey (
  id             uuid PRIMARY KEY,
  operator_id    uuid NOT NULL REFERENCES operator_person,
  -- As the authenticator names it, in base64url.
  credential_id  text NOT NULL UNIQUE,
  -- COSE_Key.
  public_key     bytea NOT NULL,
  -- The authenticator's count of signatures: 0 of one that counts nothing, else it only rises (WebAuthn 3, 6.1.1).
  counter        bigint NOT NULL CHECK (counter >= 0),
  name           text NOT NULL,
  -- A synchronised passkey, which several devices have.
  synced         boolean NOT NULL,
  added_at       timestamptz NOT NULL,
  used_at        timestamptz
);
CREATE INDEX operator_passkey_operator ON operator_passkey (operator_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_passkey TO vintem_app;

-- What an authenticator is asked to sign. Each is looked at once: with the answer it goes.
CREATE TABLE operator_challenge (
  -- SHA-256 of it.
  hash        bytea PRIMARY KEY,
  purpose     text NOT NULL CHECK (purpose IN ('sign_in', 'proof', 'passkey')),
  -- The session that asked for it; null: a sign-in.
  session_id  uuid,
  -- The network that asked for it: an answer from another one counts nothing.
  network     text NOT NULL,
  expires_at  timestamptz NOT NULL,
  CONSTRAINT operator_challenge_of_session CHECK ((session_id IS NULL) = (purpose = 'sign_in'))
);
CREATE INDEX operator_challenge_expires_at ON operator_challenge (expires_at);
GRANT SELECT, INSERT, DELETE ON operator_challenge TO vintem_app;

-- When a factor was shown again in the session; null: not since its sign-in.
ALTER TABLE operator_session ADD proved_at timestamptz;
