-- compatibleFrom: 0.1.0
-- cells
-- Expired charges that are queried once more, a day later: their provider may have shown a payment late.
CREATE TABLE late_query (
  account_id  uuid NOT NULL,
  payment_id  uuid NOT NULL,
  connection  text NOT NULL,
  -- Of the charge: one listing by creation answers for many.
  created_at  timestamptz NOT NULL,
  -- When it is queried; a lease as well.
  due_at      timestamptz NOT NULL,
  tries       integer NOT NULL,
  PRIMARY KEY (account_id, payment_id)
);
CREATE INDEX late_query_due ON late_query (connection, due_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON late_query TO vintem_app;
