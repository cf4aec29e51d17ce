-- compatibleFrom: 0.1.0
-- cells
-- The account at the provider that the first attempt went to (`connection.identity`); null: nothing was sent, or before identities were kept.
ALTER TABLE intent ADD COLUMN identity text;
ALTER TABLE dispute_defence ADD COLUMN identity text;
