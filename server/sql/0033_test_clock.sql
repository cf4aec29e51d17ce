-- compatibleFrom: 0.1.0
-- The clock of a test account: how far its time is ahead of ours, and where it is being moved to. A live account can have none.
ALTER TABLE account ADD CONSTRAINT account_id_test UNIQUE (id, test);

CREATE TABLE test_clock (
  account_id       uuid PRIMARY KEY,
  test             boolean NOT NULL DEFAULT true CHECK (test),
  -- Two years at most.
  ahead_ms         bigint NOT NULL DEFAULT 0 CHECK (ahead_ms BETWEEN 0 AND 63158400000),
  -- Null: it stands.
  target_ahead_ms  bigint CHECK (target_ahead_ms BETWEEN ahead_ms AND 63158400000),
  -- When it was last moved: what is due at this moment gets its time before the next move.
  moved_at         timestamptz NOT NULL,
  FOREIGN KEY (account_id, test) REFERENCES account (id, test)
);
CREATE INDEX test_clock_moving ON test_clock (moved_at) WHERE target_ahead_ms IS NOT NULL;

-- Every move, so that a deadline knows how much of the time ahead came after it was set.
CREATE TABLE test_clock_move (
  account_id  uuid NOT NULL,
  -- After the move.
  ahead_ms    bigint NOT NULL,
  at          timestamptz NOT NULL,
  PRIMARY KEY (account_id, ahead_ms)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON test_clock TO vintem_app;
GRANT SELECT, INSERT ON test_clock_move TO vintem_app;
