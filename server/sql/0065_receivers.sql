-- compatibleFrom: 0.1.0
-- cells
-- Who received a transfer, as its provider told it: {"name", "taxId", "bank"}; the last two may be null. Null: it has not told it.
ALTER TABLE payment ADD COLUMN receiver jsonb;
