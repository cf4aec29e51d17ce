-- compatibleFrom: 0.1.0
-- concurrent
-- cells
-- Card payments that their acquirer has not released: their sum is what an operation has in `card_held`.
CREATE INDEX payment_card_held ON payment (account_id, operation_id, id) WHERE card ->> 'settlement' = 'held';
