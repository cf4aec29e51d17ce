-- compatibleFrom: 0.1.0
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

-- How many standbys of the database replay its log now. Their names do not count them: standbys that were given none share one. What only
-- receives the log, such as pg_receivewal, replays nothing. Seen under the rights of the owner, as replication_lag() is.
CREATE FUNCTION replaying_standbys() RETURNS integer
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
  AS $$
    SELECT count(*)::integer FROM pg_stat_replication
      WHERE state IN ('streaming', 'catchup') AND replay_lsn IS NOT NULL
  $$;
REVOKE ALL ON FUNCTION replaying_standbys() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION replaying_standbys() TO vintem_app;
