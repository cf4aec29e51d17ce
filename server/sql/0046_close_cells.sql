-- compatibleFrom: 0.1.0
-- What each cell moved at a connection on a closed day, where there is more than one cell: each cell proves its own part.
CREATE TABLE connection_close_cell (
  connection     text NOT NULL,
  day            date NOT NULL,
  cell           text NOT NULL REFERENCES cell,
  opening_cents  bigint NOT NULL,
  in_cents       bigint NOT NULL CHECK (in_cents >= 0),
  out_cents      bigint NOT NULL CHECK (out_cents >= 0),
  refund_cents   bigint NOT NULL CHECK (refund_cents >= 0),
  fee_cents      bigint NOT NULL,
  -- Over the heads of the cell's chains that moved, SHA-256 in hex.
  chains         text NOT NULL,
  PRIMARY KEY (connection, day, cell),
  FOREIGN KEY (connection, day) REFERENCES connection_close
);
GRANT SELECT, INSERT ON connection_close_cell TO vintem_app;
