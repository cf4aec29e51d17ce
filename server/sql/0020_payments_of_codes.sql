-- compatibleFrom: 0.1.0
-- concurrent
-- cells
CREATE INDEX payment_of_static_code ON payment (account_id, static_code_id, created_at, id) WHERE static_code_id IS NOT NULL;
CREATE INDEX payment_of_link ON payment (account_id, payment_link_id, created_at, id) WHERE payment_link_id IS NOT NULL;
