-- compatibleFrom: 0.1.0
-- cells
-- The disputes of an operation that the provider has not decided, the next deadline first: home and the menu count them.
CREATE INDEX dispute_due ON dispute (account_id, operation_id, deadline_at, id) WHERE ended_at IS NULL;
