-- compatibleFrom: 0.1.0
-- concurrent
-- cells
-- Where a provider limits parallel sends, the limit is of transfers alone: whatever else is sent, a later kind among it, is found without reading
-- all transfers that wait for a slot.
CREATE INDEX intent_due_without_slot ON intent (connection, due_at) WHERE priority = 0 AND kind <> 'transfer';
DROP INDEX intent_due_unlimited;
