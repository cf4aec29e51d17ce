-- The secret part of the address before the last change: a provider that has not heard of the new one still delivers there.
ALTER TABLE connection ADD COLUMN webhook_token_previous text;
