-- compatibleFrom: 0.1.0
-- What `vintem doctor` found last at a connection, asked for in the console: a worker examines it, so that no call of a person waits for a provider.
CREATE TABLE connection_examination (
  connection  text PRIMARY KEY REFERENCES connection,
  asked_at    timestamptz NOT NULL,
  -- The e-mail address of the operator.
  asked_by    text NOT NULL,
  -- When a worker took it; null: none has. One that ended in between is followed by another.
  taken_at    timestamptz,
  -- Null: it has not ended.
  ended_at    timestamptz,
  -- Of the last one that ended with an answer; null: none did.
  findings    jsonb,
  found_at    timestamptz
);
GRANT SELECT, INSERT, UPDATE ON connection_examination TO vintem_app;
