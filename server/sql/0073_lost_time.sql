-- compatibleFrom: 0.1.0
-- Since when the database may have lost what happened, while a comparison with the providers is wanted (`restored_at`); null: since the newest
-- payment that it had then.
ALTER TABLE installation ADD COLUMN lost_since timestamptz;

-- What a provider lists under an id of ours and the books lack: it was made in a time that was lost. The id names the account. The row ends
-- when the merchant repeats the request: the payment is then made on this connection, and never sent.
CREATE TABLE lost_payment (
  account_id    uuid NOT NULL,
  payment_id    uuid NOT NULL,
  -- Where the provider lists it.
  connection    text NOT NULL,
  kind          text NOT NULL CHECK (kind IN ('deposit', 'transfer')),
  -- As the provider says it; a line of a statement says only that money moved.
  status        text NOT NULL CHECK (status IN ('open', 'pending', 'settled', 'refused')),
  -- What the provider named it in its first answer, where its queries need that.
  provider_ref  text,
  found_at      timestamptz NOT NULL,
  -- A person has looked: it no longer stops the account's withdrawals.
  decided_at    timestamptz,
  PRIMARY KEY (account_id, payment_id)
);
CREATE INDEX lost_payment_stops ON lost_payment (account_id)
  WHERE kind = 'transfer' AND status <> 'refused' AND decided_at IS NULL;
GRANT SELECT, INSERT, UPDATE, DELETE ON lost_payment TO vintem_app;

-- The account has rows there: read with its conditions, so that other accounts cost nothing.
ALTER TABLE account ADD COLUMN lost_payments boolean NOT NULL DEFAULT false;
