-- compatibleFrom: 0.1.0
-- concurrent
-- cells
-- A page of charges alone, or of transfers alone, is found without reading what is of the other kind.
CREATE INDEX payment_of_kind ON payment (account_id, operation_id, kind, created_at, id);
