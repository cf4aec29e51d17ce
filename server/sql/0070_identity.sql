-- compatibleFrom: 0.1.0
-- Which account at the provider is behind a connection, as a digest (`provider/identity.ts`); null: it was never asked for. What was sent to one account is
-- never repeated at another.
ALTER TABLE connection ADD COLUMN identity text;
