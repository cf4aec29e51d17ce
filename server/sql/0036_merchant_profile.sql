-- compatibleFrom: 0.1.0
-- How a merchant shows itself on receipts, in mails and to payers. No row: by the account's name alone.
CREATE TABLE merchant_profile (
  account_id    uuid PRIMARY KEY,
  display_name  text CHECK (char_length(display_name) BETWEEN 2 AND 60),
  -- Without points and lines; with letters since 2026.
  cnpj          text CHECK (cnpj ~ '^[0-9A-Z]{12}[0-9]{2}$'),
  colour        text CHECK (colour ~ '^#[0-9a-f]{6}$'),
  -- A PNG that this program has written itself, from the pixels of what was sent.
  logo          bytea CHECK (octet_length(logo) <= 262144),
  updated_at    timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON merchant_profile TO vintem_app;

-- Receivers that people of an account keep for their next transfer.
CREATE TABLE saved_receiver (
  account_id    uuid NOT NULL,
  id            uuid NOT NULL,
  name          text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 60),
  pix_key_type  text NOT NULL,
  -- Sealed under `id`, as the keys of transfers are.
  pix_key       bytea NOT NULL,
  created_by    uuid NOT NULL,
  created_at    timestamptz NOT NULL,
  PRIMARY KEY (account_id, id)
);
GRANT SELECT, INSERT, DELETE ON saved_receiver TO vintem_app;
