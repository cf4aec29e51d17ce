-- What the public interface needs beside the core: drafts of transfers, lives and addresses of API keys, quotas of accounts.

-- A transfer that waits for the code that was mailed. Goes when it is confirmed, cancelled or too old.
CREATE TABLE draft (
  account_id       uuid NOT NULL,
  payment_id       uuid NOT NULL,
  operation_id     uuid NOT NULL,
  -- Where the code goes. Sealed with the payment's id as context.
  email            bytea NOT NULL,
  -- scrypt over the payment's id and the code.
  code_salt        bytea NOT NULL,
  code_hash        bytea NOT NULL,
  code_expires_at  timestamptz NOT NULL,
  tries_left       smallint NOT NULL CHECK (tries_left > 0),
  sends_left       smallint NOT NULL CHECK (sends_left >= 0),
  expires_at       timestamptz NOT NULL,
  PRIMARY KEY (account_id, payment_id)
);
CREATE INDEX draft_expires ON draft (expires_at);

-- Addresses and networks from which the key may be used; empty: from everywhere.
ALTER TABLE api_key ADD COLUMN ips text[] NOT NULL DEFAULT '{}';
-- The key that follows it: this one ends with its overlap, and its name is free.
ALTER TABLE api_key ADD COLUMN rolled_to text;
ALTER TABLE api_key ADD COLUMN last_used_ip text;
ALTER TABLE api_key ADD COLUMN last_used_agent text;
-- A key that may send money and is not used for half a year rests, until somebody wakes it.
ALTER TABLE api_key ADD COLUMN woken_at timestamptz;

-- {policy: {perSecond, burst}}: what differs from the installation's.
ALTER TABLE account ADD COLUMN rate_quotas jsonb NOT NULL DEFAULT '{}';

GRANT SELECT, INSERT, UPDATE, DELETE ON draft TO vintem_app;
