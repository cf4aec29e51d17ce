-- compatibleFrom: 0.1.0
-- Ids that the provider's lists showed, while one comparison runs: millions of them do not fit into memory. Logged, so that after a crash
-- or a promotion a comparison under way never takes a listed payment for a missing one.
CREATE TABLE reconcile_seen (
  -- The comparison; a UUIDv7, so that what an ended process left behind is found by its age.
  run          uuid NOT NULL,
  provider_id  text COLLATE "C" NOT NULL,
  PRIMARY KEY (run, provider_id)
);
GRANT SELECT, INSERT, DELETE ON reconcile_seen TO vintem_app;
