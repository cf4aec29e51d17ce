-- compatibleFrom: 0.1.0
-- The second reading of a provider's lists, for what they showed late: when it is due, and the pass that is under way (null: none is).
ALTER TABLE connection ADD COLUMN late_due_at timestamptz NOT NULL DEFAULT now() + interval '1 day',
  ADD COLUMN late_read_to timestamptz, ADD COLUMN late_pass_at timestamptz;
