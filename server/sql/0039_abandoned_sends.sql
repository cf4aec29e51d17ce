-- compatibleFrom: 0.1.0
-- concurrent
-- Sends whose owner is gone are found without reading what waits for a slot: taking one over needs none.
CREATE INDEX intent_sending_transfer ON intent (connection, due_at) WHERE state = 'sending' AND kind = 'transfer';
