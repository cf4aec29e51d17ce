-- compatibleFrom: 0.1.0
-- cells
-- What merchants give as evidence for the defence of a dispute.
CREATE TABLE dispute_file (
  account_id   uuid NOT NULL,
  id           uuid NOT NULL,
  dispute_id   uuid NOT NULL,
  operation_id uuid NOT NULL,
  -- As the merchant named it; empty once the payer is anonymised.
  name         text NOT NULL,
  type         text NOT NULL CHECK (type IN ('application/pdf', 'image/png', 'image/jpeg')),
  size_bytes   integer NOT NULL CHECK (size_bytes BETWEEN 1 AND 10485760),
  -- Of the contents.
  sha256       bytea NOT NULL CHECK (octet_length(sha256) = 32),
  -- The contents, sealed, with the file's id as context; null once their time is over or the payer is anonymised.
  body         bytea,
  created_at   timestamptz NOT NULL,
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, dispute_id, sha256),
  FOREIGN KEY (account_id, dispute_id) REFERENCES dispute (account_id, id)
);
-- What is sealed cannot be compressed.
ALTER TABLE dispute_file ALTER COLUMN body SET STORAGE EXTERNAL;
-- What an account keeps, and what has been kept for long: an id begins with its time.
CREATE INDEX dispute_file_kept ON dispute_file (account_id) INCLUDE (size_bytes) WHERE body IS NOT NULL;
CREATE INDEX dispute_file_oldest ON dispute_file (id) WHERE body IS NOT NULL;
GRANT SELECT, INSERT, UPDATE, DELETE ON dispute_file TO vintem_app;

-- Those that go out with a defence. A defence of files alone has no text: its body is null from the beginning.
ALTER TABLE dispute_defence ADD COLUMN file_ids uuid[] NOT NULL DEFAULT '{}';
