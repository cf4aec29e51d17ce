-- compatibleFrom: 0.1.0
-- A key that ends within two weeks is named in a mail, once. Of the directory alone: keys stand there.
ALTER TABLE api_key ADD COLUMN end_warned_at timestamptz;
