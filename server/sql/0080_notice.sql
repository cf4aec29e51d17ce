-- compatibleFrom: 0.1.0
-- What every merchant's panel says for a time, as about a maintenance. There is one at most; the audit log has those before it.
CREATE TABLE notice (
  id        smallint PRIMARY KEY CHECK (id = 1),
  pt        text NOT NULL CHECK (char_length(pt) BETWEEN 5 AND 280),
  en        text NOT NULL CHECK (char_length(en) BETWEEN 5 AND 280),
  from_at   timestamptz NOT NULL,
  until_at  timestamptz NOT NULL,
  set_by    text NOT NULL,
  set_at    timestamptz NOT NULL,
  CONSTRAINT notice_time CHECK (until_at > from_at AND until_at <= set_at + interval '31 days')
);
GRANT SELECT, INSERT, UPDATE, DELETE ON notice TO vintem_app;
