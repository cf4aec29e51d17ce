-- compatibleFrom: 0.1.0
-- What moves in the provider's account and belongs to no merchant: what the provider charges, and the company's own money. Each is kept once, and
-- many are posted as one journal on the installation's chain.
CREATE TABLE connection_movement (
  connection    text NOT NULL REFERENCES connection,
  kind          text NOT NULL CHECK (kind IN ('cost', 'own')),
  -- What it is known by at this connection, whatever the source: the Pix and its direction, the provider's own line, or a person's request key.
  reference     text NOT NULL,
  -- As the provider's account changed: below zero, it left.
  amount_cents  bigint NOT NULL CHECK (amount_cents <> 0),
  moved_at      timestamptz NOT NULL,
  source        text NOT NULL CHECK (source IN ('delivery', 'report', 'statement', 'person')),
  found_at      timestamptz NOT NULL,
  -- The reference of the journal that holds it; null: it is not posted yet.
  posted_as     text,
  PRIMARY KEY (connection, kind, reference)
);
CREATE INDEX connection_movement_unposted ON connection_movement (connection) WHERE posted_as IS NULL;
CREATE INDEX connection_movement_posted ON connection_movement (posted_as) WHERE posted_as IS NOT NULL;
CREATE INDEX connection_movement_moved ON connection_movement (connection, moved_at);
GRANT SELECT, INSERT ON connection_movement TO vintem_app;
GRANT UPDATE (posted_as) ON connection_movement TO vintem_app;

-- Up to where the provider's list of costs has been read, and when it is read next (a lease as well).
ALTER TABLE connection ADD COLUMN costs_read_to timestamptz, ADD COLUMN costs_due_at timestamptz;

-- Of what came in and what left: the company's own money, and what the provider charged (below zero: it gave back more).
ALTER TABLE connection_close_cell
  ADD COLUMN cost_cents bigint NOT NULL DEFAULT 0,
  ADD COLUMN own_in_cents bigint NOT NULL DEFAULT 0 CHECK (own_in_cents >= 0),
  ADD COLUMN own_out_cents bigint NOT NULL DEFAULT 0 CHECK (own_out_cents >= 0);
-- Null in closes from before these columns, whose hash does not hold them.
ALTER TABLE connection_close
  ADD COLUMN cost_cents bigint,
  ADD COLUMN own_in_cents bigint CHECK (own_in_cents >= 0),
  ADD COLUMN own_out_cents bigint CHECK (own_out_cents >= 0),
  -- In the provider's account and not to be paid out; null: the provider does not say it.
  ADD COLUMN blocked_cents bigint CHECK (blocked_cents >= 0),
  -- Of what is in transit: left by the provider's word, and under way by its word. What it knows nothing of has not left.
  ADD COLUMN transit_settled_cents bigint CHECK (transit_settled_cents >= 0),
  ADD COLUMN transit_pending_cents bigint CHECK (transit_pending_cents >= 0),
  ADD COLUMN transit_unsent_cents bigint CHECK (transit_unsent_cents >= 0),
  ADD CONSTRAINT connection_close_costs CHECK ((cost_cents IS NULL) = (own_in_cents IS NULL) AND (cost_cents IS NULL) = (own_out_cents IS NULL));
