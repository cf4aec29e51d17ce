-- What merchants' programs asked for and how it was answered: thirty days, without what is personal or secret.
CREATE TABLE request_log (
  account_id         uuid NOT NULL REFERENCES account,
  -- Of the moment of the answer: ids are UUIDv7.
  id                 uuid NOT NULL,
  at                 timestamptz NOT NULL,
  method             text NOT NULL,
  -- The route's pattern, not the address that was asked for.
  route              text NOT NULL,
  status             smallint NOT NULL,
  error_code         text,
  key_id             text NOT NULL,
  request_id         text NOT NULL,
  client_request_id  text,
  duration_ms        integer NOT NULL,
  ip                 text NOT NULL,
  operation_id       uuid,
  payment_id         uuid,
  body               jsonb,
  -- Requests of the same second that were answered and not kept.
  left_out           integer NOT NULL,
  PRIMARY KEY (account_id, id)
);
CREATE INDEX request_log_payment ON request_log (account_id, payment_id, id) WHERE payment_id IS NOT NULL;
CREATE INDEX request_log_at ON request_log (at);
GRANT SELECT, INSERT, DELETE ON request_log TO vintem_app;
