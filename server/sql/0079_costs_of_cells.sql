-- compatibleFrom: 0.1.0
-- cells
-- Of a cell's share of a day: the company's own money, and what the provider charged (below zero: it gave back more).
ALTER TABLE day_close_money
  ADD COLUMN cost_cents bigint NOT NULL DEFAULT 0,
  ADD COLUMN own_in_cents bigint NOT NULL DEFAULT 0 CHECK (own_in_cents >= 0),
  ADD COLUMN own_out_cents bigint NOT NULL DEFAULT 0 CHECK (own_out_cents >= 0);
