-- compatibleFrom: 0.1.0
-- Second factors, limits and pending changes of people's accounts.

-- Two factors were shown in this very session: a code of the app, a backup code, or a passkey with user verification. Sessions from
-- before do not say so, and their people sign in again. `by_passkey` is no longer read: it stays while an older program may write it.
ALTER TABLE panel_session ADD COLUMN second_factor boolean NOT NULL DEFAULT false;

-- The last 30 second step whose code was accepted (RFC 6238, 5.2: a code is accepted once).
ALTER TABLE panel_two_factor ADD COLUMN last_step bigint;

-- Counted attempts, for all processes: one row for each thing that is counted. `used_until` moves forward with each attempt
-- (generic cell rate algorithm), so one statement counts and decides.
CREATE TABLE panel_attempt (
  -- SHA-256 over the limit's name and what is counted by (a person, an address, an e-mail): no name or address is kept.
  subject     bytea PRIMARY KEY,
  used_until  timestamptz NOT NULL
);
CREATE INDEX panel_attempt_used_until ON panel_attempt (used_until);

-- The link in the mail to the old address, which ends the change. SHA-256 of its secret.
ALTER TABLE panel_new_email ADD COLUMN cancel_hash bytea UNIQUE;

-- Who made it: it ends with their membership.
ALTER TABLE panel_invitation ADD COLUMN created_by uuid;
-- Who made it in the panel; null: the operator, or before this was kept.
ALTER TABLE api_key ADD COLUMN created_by uuid;

-- Members of a live account have so many days to set up a second factor. Counted from when they joined, or from
-- `second_factor_since` for those who were there before the rule.
ALTER TABLE account ADD COLUMN second_factor_grace_days smallint NOT NULL DEFAULT 7
  CHECK (second_factor_grace_days BETWEEN 0 AND 30);
ALTER TABLE account ADD COLUMN second_factor_since timestamptz;
UPDATE account SET second_factor_since = now();

GRANT SELECT, INSERT, UPDATE, DELETE ON panel_attempt TO vintem_app;
