-- compatibleFrom: 0.1.0
-- Who received a transfer, as its provider told it: {"name", "taxId", "bank"}, each of the last two may be null. Null: it has not told it.
ALTER TABLE payment ADD COLUMN receiver jsonb CHECK (jsonb_typeof(receiver) = 'object');
