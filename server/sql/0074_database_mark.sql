-- compatibleFrom: 0.1.0
-- What every process remembers, in its memory and in a file beside the database, of what it saw committed: a row every few seconds. A database
-- that lacks a row that a process has seen went back to an earlier moment, whatever took it there.
CREATE TABLE database_mark (
  seq         bigint PRIMARY KEY,
  -- Random: after a loss another row takes the same number.
  token       uuid NOT NULL,
  written_at  timestamptz NOT NULL
);
GRANT SELECT, INSERT, DELETE ON database_mark TO vintem_app;

-- Losses that were noted. What a process remembers of a time between the two is no new loss.
CREATE TABLE lost_time (
  noted_at  timestamptz PRIMARY KEY,
  since     timestamptz NOT NULL,
  noted_by  text NOT NULL
);
GRANT SELECT, INSERT ON lost_time TO vintem_app;
