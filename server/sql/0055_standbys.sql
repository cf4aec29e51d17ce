-- compatibleFrom: 0.1.0
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
