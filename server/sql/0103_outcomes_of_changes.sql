-- compatibleFrom: 0.1.0
-- cells
-- How a change of a charge with a due date ended; null: it is open, or ended before this was written down. charge_ended: the charge was paid or ended as it was.
ALTER TABLE due_change ADD COLUMN outcome text;
-- The rows that are there have none, so they need not be read.
ALTER TABLE due_change ADD CONSTRAINT due_change_outcome_check
  CHECK (outcome IS NULL OR (status = 'completed' AND outcome IN ('carried_out', 'refused', 'charge_ended'))) NOT VALID;
