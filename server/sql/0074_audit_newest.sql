-- compatibleFrom: 0.1.0
-- cells
-- The audit log by time, of all accounts and of one: the console's page and its file read it backwards, a page at a time.
CREATE INDEX audit_newest ON audit (at, id);
CREATE INDEX audit_of_account ON audit (account_id, at, id);
