-- compatibleFrom: 0.1.0
-- The workers that run, so that each of them has its share of the cells. Only load follows from it: two workers in one cell do no harm.
CREATE UNLOGGED TABLE worker (
  id           uuid PRIMARY KEY,
  -- By the database's clock. A worker that died or stands still is gone then, and the others share its cells.
  alive_until  timestamptz NOT NULL
) WITH (fillfactor = 50);
GRANT SELECT, INSERT, UPDATE, DELETE ON worker TO vintem_app;
