-- compatibleFrom: 0.1.0
-- Who an operator is at the OpenID provider. Bound once, by the operator's own sign-in or at the shell: an e-mail address binds nothing.
CREATE TABLE operator_identity (
  operator_id  uuid PRIMARY KEY REFERENCES operator_person,
  issuer       text NOT NULL,
  -- The `sub` of its tokens.
  subject      text NOT NULL,
  bound_at     timestamptz NOT NULL,
  UNIQUE (issuer, subject)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_identity TO vintem_app;

-- Sign-ins at the OpenID provider that are under way. State, nonce and PKCE verifier are derived from the browser's cookie, and stand nowhere.
CREATE TABLE operator_oidc_flow (
  -- SHA-256 of the cookie's token.
  token_hash   bytea PRIMARY KEY,
  network      text NOT NULL,
  -- The session that binds an identity; null: a sign-in.
  session_id   uuid,
  -- The provider's answer came: it is looked at once.
  answered_at  timestamptz,
  -- Whom the provider named; a second factor of theirs is missing.
  operator_id  uuid REFERENCES operator_person,
  expires_at   timestamptz NOT NULL,
  CONSTRAINT operator_oidc_flow_answered CHECK (operator_id IS NULL OR (answered_at IS NOT NULL AND session_id IS NULL))
);
CREATE INDEX operator_oidc_flow_expires_at ON operator_oidc_flow (expires_at);
CREATE INDEX operator_oidc_flow_operator ON operator_oidc_flow (operator_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_oidc_flow TO vintem_app;
