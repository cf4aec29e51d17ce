-- compatibleFrom: 0.1.0
-- The account's card conditions. Null: it takes no cards.
ALTER TABLE account ADD COLUMN card_connection text;
ALTER TABLE account ADD COLUMN card_fee_cents bigint NOT NULL DEFAULT 0 CHECK (card_fee_cents >= 0);
ALTER TABLE account ADD COLUMN card_fee_bps integer NOT NULL DEFAULT 0 CHECK (card_fee_bps BETWEEN 0 AND 10000);
ALTER TABLE account ADD COLUMN minimum_card_cents bigint NOT NULL DEFAULT 500 CHECK (minimum_card_cents >= 100);
ALTER TABLE account ADD COLUMN maximum_card_cents bigint NOT NULL DEFAULT 200000;
ALTER TABLE account ADD CONSTRAINT account_card_bounds CHECK (minimum_card_cents <= maximum_card_cents);
