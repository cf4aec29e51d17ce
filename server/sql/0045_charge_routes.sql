-- compatibleFrom: 0.1.0
-- Connections that a new charge goes to, in this order, while the account's own takes none. Payouts go over the account's own alone.
ALTER TABLE account ADD COLUMN charge_fallback text[] NOT NULL DEFAULT '{}';
