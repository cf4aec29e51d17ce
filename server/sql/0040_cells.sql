-- compatibleFrom: 0.1.0
-- Cells: a schema with every table of some accounts. The schema vintem is the directory, which all accounts share, and the first cell.
CREATE TABLE cell (
  -- Its schema.
  name        text PRIMARY KEY CHECK (name ~ '^vintem(_[1-9][0-9]{0,3})?$'),
  created_at  timestamptz NOT NULL,
  -- Takes new accounts.
  open        boolean NOT NULL DEFAULT true
);
INSERT INTO cell (name, created_at) VALUES ('vintem', now());

-- Which cells have a migration of `-- cells`; those of the first one stand in `migration`.
CREATE TABLE cell_migration (
  cell        text NOT NULL REFERENCES cell,
  name        text NOT NULL,
  applied_at  timestamptz NOT NULL,
  PRIMARY KEY (cell, name)
);

-- For its whole life.
ALTER TABLE account ADD COLUMN cell text NOT NULL DEFAULT 'vintem' REFERENCES cell;
CREATE INDEX account_cell ON account (cell);

GRANT SELECT, UPDATE ON cell TO vintem_app;
GRANT SELECT ON cell_migration TO vintem_app;
