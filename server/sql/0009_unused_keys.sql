-- A key that nobody used for 90 days is told of by mail, once until it is used again.
ALTER TABLE api_key ADD COLUMN warned_at timestamptz;
-- One process at a time is about to write that mail.
ALTER TABLE api_key ADD COLUMN warning_until timestamptz;
