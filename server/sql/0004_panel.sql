-- The panel: people, how they sign in, and what they may do in which account.
--
-- panel_user, panel_session, panel_credential, panel_verification, panel_two_factor and panel_passkey are better-auth's
-- tables under names of our own (`account` is a merchant here). They are a directory like api_key: a person may belong to
-- several accounts, so nothing of it begins with the account.

CREATE TABLE panel_user (
  id                  uuid PRIMARY KEY,
  name                text NOT NULL,
  email               text NOT NULL UNIQUE,
  email_verified      boolean NOT NULL,
  image               text,
  two_factor_enabled  boolean NOT NULL DEFAULT false,
  -- Transfers from the panel wait until then: the password was reset.
  frozen_until        timestamptz,
  language            text NOT NULL DEFAULT 'pt-BR',
  created_at          timestamptz NOT NULL,
  updated_at          timestamptz NOT NULL
);

CREATE TABLE panel_session (
  id                uuid PRIMARY KEY,
  user_id           uuid NOT NULL REFERENCES panel_user ON DELETE CASCADE,
  token             text NOT NULL UNIQUE,
  expires_at        timestamptz NOT NULL,
  ip_address        text,
  user_agent        text,
  created_at        timestamptz NOT NULL,
  updated_at        timestamptz NOT NULL,
  -- The last request, noted at most once a minute, and the last time that the password was given again.
  seen_at           timestamptz,
  authenticated_at  timestamptz
);
CREATE INDEX panel_session_user ON panel_session (user_id);

-- How a user proves who they are: `credential` is the password, hashed with Argon2id.
CREATE TABLE panel_credential (
  id                        uuid PRIMARY KEY,
  user_id                   uuid NOT NULL REFERENCES panel_user ON DELETE CASCADE,
  account_id                text NOT NULL,
  provider_id               text NOT NULL,
  access_token              text,
  refresh_token             text,
  id_token                  text,
  access_token_expires_at   timestamptz,
  refresh_token_expires_at  timestamptz,
  scope                     text,
  password                  text,
  created_at                timestamptz NOT NULL,
  updated_at                timestamptz NOT NULL,
  UNIQUE (provider_id, account_id)
);
CREATE INDEX panel_credential_user ON panel_credential (user_id);

CREATE TABLE panel_verification (
  id          uuid PRIMARY KEY,
  identifier  text NOT NULL,
  value       text NOT NULL,
  expires_at  timestamptz NOT NULL,
  created_at  timestamptz NOT NULL,
  updated_at  timestamptz NOT NULL
);
CREATE INDEX panel_verification_identifier ON panel_verification (identifier);

CREATE TABLE panel_two_factor (
  id                         uuid PRIMARY KEY,
  user_id                    uuid NOT NULL REFERENCES panel_user ON DELETE CASCADE,
  -- Both encrypted by better-auth under a secret derived from VINTEM_SECRET.
  secret                     text NOT NULL,
  backup_codes               text NOT NULL,
  verified                   boolean,
  failed_verification_count  integer,
  locked_until               timestamptz
);
CREATE INDEX panel_two_factor_user ON panel_two_factor (user_id);

CREATE TABLE panel_passkey (
  id             uuid PRIMARY KEY,
  user_id        uuid NOT NULL REFERENCES panel_user ON DELETE CASCADE,
  name           text,
  public_key     text NOT NULL,
  credential_id  text NOT NULL UNIQUE,
  counter        bigint NOT NULL,
  device_type    text NOT NULL,
  backed_up      boolean NOT NULL,
  transports     text,
  aaguid         text,
  created_at     timestamptz
);
CREATE INDEX panel_passkey_user ON panel_passkey (user_id);

-- ------------------------------------------------------------------------------------------------------------------ members

CREATE TABLE panel_member (
  account_id  uuid NOT NULL REFERENCES account,
  user_id     uuid NOT NULL REFERENCES panel_user ON DELETE CASCADE,
  role        text NOT NULL CHECK (role IN ('owner', 'admin', 'finance', 'developer', 'viewer')),
  created_at  timestamptz NOT NULL,
  PRIMARY KEY (account_id, user_id)
);
CREATE INDEX panel_member_user ON panel_member (user_id);

CREATE TABLE panel_invitation (
  account_id   uuid NOT NULL REFERENCES account,
  id           uuid NOT NULL,
  email        text NOT NULL,
  role         text NOT NULL CHECK (role IN ('owner', 'admin', 'finance', 'developer', 'viewer')),
  -- SHA-256 of the secret in the link: 256 random bits need no slow hash.
  token_hash   bytea NOT NULL UNIQUE,
  created_at   timestamptz NOT NULL,
  expires_at   timestamptz NOT NULL,
  accepted_at  timestamptz,
  PRIMARY KEY (account_id, id)
);

-- Who did what in the panel: kept.
CREATE TABLE panel_audit (
  account_id  uuid NOT NULL,
  id          uuid NOT NULL,
  user_id     uuid,
  action      text NOT NULL,
  detail      jsonb NOT NULL,
  ip_address  text,
  created_at  timestamptz NOT NULL,
  PRIMARY KEY (account_id, id)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON panel_user, panel_session, panel_credential, panel_verification, panel_two_factor,
  panel_passkey, panel_member, panel_invitation TO vintem_app;
GRANT SELECT, INSERT ON panel_audit TO vintem_app;
