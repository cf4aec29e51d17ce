-- compatibleFrom: 0.1.0
-- concurrent
-- Accounts whose deliveries wait are found one by one, and of each the delivery that is due first, without reading what waits of the others.
CREATE INDEX inbound_turn ON inbound (connection, line, next_at) WHERE applied_at IS NULL AND authentic;
