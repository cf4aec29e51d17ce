-- compatibleFrom: 0.1.0
-- Pairs that the merchant gives a charge or a transfer, kept and shown as they are: {"name": "value"}. Null: none.
ALTER TABLE payment ADD COLUMN metadata jsonb CHECK (jsonb_typeof(metadata) = 'object');
