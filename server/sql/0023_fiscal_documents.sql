-- compatibleFrom: 0.1.0
-- cells
-- Electronic fiscal documents that a charge pays for, as the merchant names them: [{"kind", "key"}]. Null: none.
ALTER TABLE payment ADD COLUMN fiscal_documents jsonb;
-- Not checked in older rows, which have none: a look at every row would hold up a large table.
ALTER TABLE payment ADD CONSTRAINT payment_fiscal_documents_check CHECK (jsonb_typeof(fiscal_documents) = 'array') NOT VALID;
