-- compatibleFrom: 0.1.0
-- A connection behind which another account stands than before is held: nothing is sent and nothing is asked for over it. Since when, why, and when a
-- process said last that it holds it; null: none does.
ALTER TABLE connection
  ADD COLUMN held_since timestamptz,
  ADD COLUMN held_seen_at timestamptz,
  ADD COLUMN held_reason text;
