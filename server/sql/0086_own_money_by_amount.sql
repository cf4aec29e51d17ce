-- compatibleFrom: 0.1.0
-- concurrent
-- Money of the company that came into a connection, by its amount: a cash transfer is looked for among it.
CREATE INDEX connection_movement_own_in ON connection_movement (connection, amount_cents, moved_at) WHERE kind = 'own' AND amount_cents > 0;
