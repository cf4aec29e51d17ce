-- compatibleFrom: 0.1.0
-- concurrent
-- cells
-- Transfers that no list answers for: among the many card payments of their priority, those whose merchant has to be warned are found at once.
CREATE INDEX intent_transfer_alone ON intent (connection, created_at) WHERE priority = 3 AND kind = 'transfer';
