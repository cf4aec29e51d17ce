-- compatibleFrom: 0.1.0
-- A payment by card that its acquirer lists and the books lack: the merchant's repeat of the request finds its page, and makes no other one.
ALTER TABLE lost_payment DROP CONSTRAINT lost_payment_kind_check;
ALTER TABLE lost_payment ADD CONSTRAINT lost_payment_kind_check CHECK (kind IN ('deposit', 'transfer', 'checkout'));
