-- compatibleFrom: 0.1.0
-- cells
-- The account at the provider that lists it (`connection.identity`): the payment that the merchant's repeat brings back is there; null: found before
-- it was kept.
ALTER TABLE lost_payment ADD COLUMN identity text;
