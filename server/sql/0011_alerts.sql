-- Mails about transfers that stay unknown and about incidents: due until one was sent. What was there before is not told of.
ALTER TABLE unknown_told ADD COLUMN mail_due_at timestamptz;
ALTER TABLE incident ADD COLUMN mail_due_at timestamptz;
CREATE INDEX unknown_told_mail ON unknown_told (mail_due_at) WHERE mail_due_at IS NOT NULL;
CREATE INDEX incident_mail ON incident (mail_due_at) WHERE mail_due_at IS NOT NULL;
