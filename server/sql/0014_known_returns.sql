-- An older program does not know the references of returns that a newer one posts, and would post them again: it must not run beside.
-- Returns that were posted or that opened an incident, under every name that the provider has given them.
CREATE TABLE known_return (
  account_id   uuid NOT NULL REFERENCES account,
  -- The payment's id. For a Pix that matches no payment of ours, its end-to-end id or else the provider's id of it.
  payment      text NOT NULL,
  -- As in the journal, where it was posted.
  reference    text NOT NULL,
  -- The end-to-end id of the received Pix that was returned; empty for a payout, which is one Pix. Null: it was posted
  -- before this table existed, and its Pix is not stored.
  pix          text,
  -- `id` of API Pix: chosen by who returns it, unique within one Pix only.
  return_id    text,
  -- `rtrId` of API Pix: unique.
  rtr_id       text,
  amount_cents bigint NOT NULL CHECK (amount_cents > 0),
  at           timestamptz NOT NULL,
  -- False: it opened an incident, and no journal is about it yet.
  posted       boolean NOT NULL,
  PRIMARY KEY (account_id, payment, reference)
);
GRANT SELECT, INSERT, UPDATE ON known_return TO vintem_app;

-- The last query that the provider answered and that left the payment unfinished.
ALTER TABLE intent ADD COLUMN answered_at timestamptz;
COMMENT ON COLUMN intent.absent_since IS
  'Since when the provider has answered without ending the payment; a day of it opens an incident.';

-- The check of unfinished payments reads resolved incidents as well.
CREATE INDEX incident_of_payment ON incident (account_id, payment_id);
