-- compatibleFrom: 0.1.0
-- concurrent
-- cells
-- An acquirer that does not repeat our id names a payment by its page alone.
CREATE INDEX payment_of_page ON payment ((card ->> 'ref')) WHERE card IS NOT NULL;
