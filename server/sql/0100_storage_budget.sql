-- compatibleFrom: 0.1.0
-- cells
-- How much an account may still store of what is kept for convenience alone (answers of endpoints, the log of requests), as in `rate_bucket`: one
-- instant, up to which the budget is used up, in ms since 1970. A crash of PostgreSQL forgets it: the budgets are full again.
CREATE UNLOGGED TABLE storage_budget (
  account_id   uuid NOT NULL,
  kind         text NOT NULL,
  spent_until  double precision NOT NULL,
  -- Bytes that the last taker got: less than it asked for when there was less left.
  granted      bigint NOT NULL,
  PRIMARY KEY (account_id, kind)
) WITH (fillfactor = 50);
GRANT SELECT, INSERT, UPDATE ON storage_budget TO vintem_app;
