-- compatibleFrom: 0.1.0
-- cells
-- When the people of the account are told that a defence has failed; a lease as well. Null: they were, or nothing is to be told.
ALTER TABLE dispute_defence ADD COLUMN mail_due_at timestamptz;
CREATE INDEX dispute_defence_mail ON dispute_defence (mail_due_at) WHERE mail_due_at IS NOT NULL;
