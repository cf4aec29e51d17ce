-- cells
-- The audit log of an account is a chain: each row has the hash of itself and of the row before it (`store/rows/audit-chain.ts`). Rows without a
-- `seq` are those from before the chain.
ALTER TABLE audit ADD COLUMN seq bigint;
-- When the row was chained, by the database's clock, in milliseconds since 1970; `at` is the program's.
ALTER TABLE audit ADD COLUMN chained_ms bigint;
ALTER TABLE audit ADD COLUMN hash bytea;
ALTER TABLE audit ADD CONSTRAINT audit_chained CHECK ((seq IS NULL) = (hash IS NULL) AND (seq IS NULL) = (chained_ms IS NULL)) NOT VALID;
CREATE UNIQUE INDEX audit_seq ON audit (account_id, seq);

-- The head of each chain.
CREATE TABLE audit_chain (
  account_id  uuid PRIMARY KEY,
  -- SHA-256 over the digests of the rows from before the chain, in the order of their ids: with it the chain begins.
  start       bytea NOT NULL,
  seq         bigint NOT NULL CHECK (seq >= 0),
  at_ms       bigint NOT NULL,
  head        bytea NOT NULL CHECK (length(head) = 32)
);
GRANT SELECT, INSERT, UPDATE ON audit_chain TO vintem_app;

INSERT INTO audit_chain (account_id, start, seq, at_ms, head)
  SELECT account_id, digest, 0, 0, digest FROM (
    SELECT account_id, sha256(string_agg(sha256(convert_to(jsonb_build_array(account_id, id, (extract(epoch FROM at) * 1000000)::bigint,
        actor, action, subject, reason, detail)::text, 'UTF8')), ''::bytea ORDER BY id)) AS digest
      FROM audit GROUP BY account_id) AS before;
