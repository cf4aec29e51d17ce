-- compatibleFrom: 0.1.0
-- cells
-- How far the audit log of each account was sent to the receiver of `AUDIT_FORWARD_URL`.
ALTER TABLE audit_chain ADD COLUMN forwarded_seq bigint NOT NULL DEFAULT 0;
ALTER TABLE audit_chain ADD CONSTRAINT audit_chain_forwarded CHECK (forwarded_seq BETWEEN 0 AND seq);
CREATE INDEX audit_chain_unforwarded ON audit_chain (account_id) WHERE forwarded_seq < seq;
