-- compatibleFrom: 0.1.0
-- cells
-- What the provider said to an attempt that it did not accept: its name of the error, and its text with ids, keys and documents masked.
CREATE TABLE provider_word (
  account_id  uuid NOT NULL,
  -- Of a refund its own id.
  payment_id  uuid NOT NULL,
  -- Of the attempt.
  fence       uuid NOT NULL,
  at          timestamptz NOT NULL,
  name        text NOT NULL,
  message     text,
  PRIMARY KEY (account_id, payment_id, fence)
);
CREATE INDEX provider_word_at ON provider_word (at);
GRANT SELECT, INSERT, DELETE ON provider_word TO vintem_app;
