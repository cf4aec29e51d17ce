-- compatibleFrom: 0.1.0
-- What an acquirer pays out of the money of card payments goes to the company's account at another connection, from where merchants withdraw
-- it. Between the two it is in transit: it left the one by the acquirer's word, and is in the other when that one's statement has it.
-- Null: it goes to an account that no connection is for.
ALTER TABLE connection ADD COLUMN pays_out_to text REFERENCES connection CHECK (pays_out_to <> id);
ALTER TABLE connection_movement DROP CONSTRAINT connection_movement_kind_check;
ALTER TABLE connection_movement ADD CONSTRAINT connection_movement_kind_check CHECK (kind IN ('cost', 'own', 'cash')) NOT VALID;

CREATE TABLE cash_transfer (
  -- The acquirer's connection, and the acquirer's own name of it.
  connection     text NOT NULL REFERENCES connection,
  reference      text NOT NULL,
  -- As the connection said when the acquirer first named it; null: it is the company's own money from then on.
  to_connection  text REFERENCES connection,
  amount_cents   bigint NOT NULL CHECK (amount_cents > 0),
  left_at        timestamptz NOT NULL,
  -- When it should be there, by the acquirer's word.
  due_at         timestamptz NOT NULL,
  found_at       timestamptz NOT NULL,
  -- The movement of the other connection that it arrived as; at most one of the three ends.
  arrival        text,
  -- The acquirer has it again.
  returned_at    timestamptz,
  -- A person says that it went elsewhere: the company's own money.
  own_at         timestamptz,
  PRIMARY KEY (connection, reference),
  CHECK ((arrival IS NOT NULL)::int + (own_at IS NOT NULL)::int <= 1),
  CHECK (to_connection IS NOT NULL OR (arrival IS NULL AND own_at IS NULL))
);
CREATE UNIQUE INDEX cash_transfer_arrival ON cash_transfer (to_connection, arrival) WHERE arrival IS NOT NULL;
-- Those that are to be decided: under way, or ended and then reported as returned.
CREATE INDEX cash_transfer_open ON cash_transfer (connection, left_at, reference)
  WHERE to_connection IS NOT NULL AND (arrival IS NULL AND own_at IS NULL) = (returned_at IS NULL);
GRANT SELECT, INSERT ON cash_transfer TO vintem_app;
GRANT UPDATE (arrival, returned_at, own_at) ON cash_transfer TO vintem_app;
