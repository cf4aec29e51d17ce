-- Token buckets of the rate limits, so that all processes count together. Not logged: after a crash every bucket is full
-- again, which harms nobody.

CREATE UNLOGGED TABLE rate_bucket (
  -- Policy and owner (key, account, address).
  id           text PRIMARY KEY,
  -- The instant up to which it is spent, in ms since 1970 with fractions: 300 a second is 3 1/3 ms each.
  spent_until  double precision NOT NULL
) WITH (fillfactor = 50);

GRANT SELECT, INSERT, UPDATE, DELETE ON rate_bucket TO vintem_app;
