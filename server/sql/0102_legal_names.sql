-- compatibleFrom: 0.1.0
-- cells
-- The name of a merchant in its register (razão social), on paper beside the CNPJ.
ALTER TABLE merchant_profile ADD COLUMN legal_name text CONSTRAINT merchant_profile_legal_name CHECK (char_length(legal_name) BETWEEN 2 AND 120);
