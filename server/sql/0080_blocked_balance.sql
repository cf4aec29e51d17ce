-- compatibleFrom: 0.1.0
-- What the provider said last of money that is in its account and may not be paid out: by a court, for contested Pix (MED), in all (precautionary blocks
-- included). Null: it does not say it.
ALTER TABLE connection
  ADD COLUMN blocked_judicial_cents bigint CHECK (blocked_judicial_cents >= 0),
  ADD COLUMN blocked_med_cents bigint CHECK (blocked_med_cents >= 0),
  ADD COLUMN blocked_total_cents bigint CHECK (blocked_total_cents >= 0);
