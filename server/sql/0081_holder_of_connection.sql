-- compatibleFrom: 0.1.0
-- Who holds the account at the provider, as its CNPJ without points and lines; null: nobody has said it.
ALTER TABLE connection ADD COLUMN holder_cnpj text CHECK (holder_cnpj ~ '^[0-9A-Z]{12}[0-9]{2}$');
