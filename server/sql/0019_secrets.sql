-- Under which secrets of the installation values are sealed, so that a secret is dropped only when nothing needs it. Older programs
-- cannot run beside it: they would not list the secret that they seal under, and second factors name their secret from now on.

-- Names the secret of the installation; derived from it with HKDF, and says nothing about it. Null until the next start.
ALTER TABLE installation ADD COLUMN secret_id text;

-- Every secret that a process sealed under. A process writes its row before it seals anything and renews it while it runs:
-- the table lists every secret that may be needed, and no start has to read all sealed values.
CREATE TABLE sealing_secret (
  id          text PRIMARY KEY,
  used_at     timestamptz NOT NULL,
  -- When nothing was sealed under it any more.
  cleared_at  timestamptz
);

-- The pepper of API keys that were made under a secret that is not current any more. Keys are stored as a hash alone, so they
-- cannot be hashed again under the new pepper before they are used: the old pepper stays instead, sealed with its id as context.
CREATE TABLE retired_pepper (
  id      text PRIMARY KEY,
  sealed  bytea NOT NULL
);

INSERT INTO sealing_secret (id, used_at)
  SELECT id, now() FROM (
    SELECT pepper_id AS id FROM api_key WHERE revoked_at IS NULL
    UNION SELECT encode(substring(pix_key FROM 2 FOR 4), 'hex') FROM payment WHERE pix_key IS NOT NULL
    UNION SELECT encode(substring(email FROM 2 FOR 4), 'hex') FROM draft
    UNION SELECT encode(substring(body FROM 2 FOR 4), 'hex') FROM inbound
    UNION SELECT encode(substring(secret FROM 2 FOR 4), 'hex') FROM webhook_endpoint
    UNION SELECT encode(substring(previous_secret FROM 2 FOR 4), 'hex') FROM webhook_endpoint WHERE previous_secret IS NOT NULL
  ) AS used;

GRANT SELECT, INSERT, UPDATE ON sealing_secret, retired_pepper TO vintem_app;
