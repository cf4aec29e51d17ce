-- compatibleFrom: 0.1.0
-- What monitoring asks about and no other row says.
ALTER TABLE installation
  -- The last `vintem verify` over all accounts, and whether nothing was broken.
  ADD COLUMN verified_at timestamptz,
  ADD COLUMN verified_ok boolean,
  -- The moment that the newest `vintem backup` is a copy of.
  ADD COLUMN backed_up_at timestamptz,
  ADD CONSTRAINT installation_verified CHECK ((verified_at IS NULL) = (verified_ok IS NULL));

ALTER TABLE connection
  -- What can be paid out of the provider's account, as it said at `balance_read_at`.
  ADD COLUMN balance_cents bigint,
  ADD COLUMN balance_read_at timestamptz,
  -- When it is asked again; a lease as well.
  ADD COLUMN balance_due_at timestamptz,
  ADD CONSTRAINT connection_balance CHECK ((balance_cents IS NULL) = (balance_read_at IS NULL));

-- How far each standby is behind. PostgreSQL shows it to members of pg_read_all_stats alone: the owner of the schema may be one, and the
-- service, which works as another role, gets these two columns and nothing else.
CREATE FUNCTION replication_lag() RETURNS TABLE (standby text, seconds double precision)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
  AS $$
    SELECT application_name, max(coalesce(extract(epoch FROM replay_lag), 0))::double precision
      FROM pg_stat_replication WHERE state IN ('streaming', 'catchup') GROUP BY application_name
  $$;
REVOKE ALL ON FUNCTION replication_lag() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION replication_lag() TO vintem_app;
