-- compatibleFrom: 0.1.0
-- Since when the report of `report_day` has been asked for, and when the one of `report_id` was requested: a report that stays
-- pending is requested again, and one that never comes is set aside, so that later days are read.
ALTER TABLE connection ADD COLUMN report_since timestamptz, ADD COLUMN report_requested_at timestamptz;
