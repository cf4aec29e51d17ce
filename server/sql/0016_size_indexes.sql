-- compatibleFrom: 0.1.0
-- concurrent
-- What keeps a statement from reading in proportion to history: each index holds only the rows that are unfinished, open or live.

-- What blocks the deletion of an operation, and what the panel lists as unconfirmed. Kept on payments, since a row of intent changes with
-- every query and would write one more index each time.
CREATE INDEX payment_unfinished ON payment (account_id, operation_id, status, created_at, id) WHERE status IN ('draft', 'unknown', 'pending');
DROP INDEX payment_draft;

-- Where a provider limits parallel sends, due charges are found without reading all transfers that wait for a slot.
CREATE INDEX intent_due_charge ON intent (connection, due_at) WHERE priority = 0 AND kind = 'deposit';

-- Replaces incident_operation. An index of its own on (account_id, opened_at) would be taken for the open incidents of one operation as well.
CREATE INDEX incident_open ON incident (account_id, operation_id, opened_at) WHERE state = 'open';
DROP INDEX incident_operation;
-- The operators' list.
CREATE INDEX incident_opened ON incident (opened_at, id);
CREATE INDEX incident_divergence ON incident (account_id) WHERE state = 'open' AND kind = 'divergence';
CREATE INDEX audit_reconcile ON audit (account_id, id) WHERE action = 'reconcile';

-- Deleted operations stay, with their balance rows.
CREATE INDEX operation_live ON operation (account_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX balance_live ON balance (account_id, operation_id) WHERE deleted_at IS NULL;
