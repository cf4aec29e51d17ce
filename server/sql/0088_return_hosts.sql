-- compatibleFrom: 0.1.0
-- The hosts to which a card payment may send its payer back. Empty: none.
ALTER TABLE account ADD COLUMN return_hosts text[] NOT NULL DEFAULT '{}';
