-- compatibleFrom: 0.1.0
-- concurrent
-- cells
-- Where more is due than is begun at once, accounts take turns: those that have something due are found one by one, and of each what is due first,
-- without reading what waits of the others. Transfers have lines of their own. What is being sent is left out, so a payment that is sent at once is written
-- into it once. One expression for priority and kind, and no condition on the priority alone: without statistics PostgreSQL would read `intent_due` and sort.
CREATE INDEX intent_turn ON intent (connection, (priority * 2 + (kind = 'transfer')::integer), account_id, due_at) WHERE state <> 'sending';
