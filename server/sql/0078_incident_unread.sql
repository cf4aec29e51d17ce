-- compatibleFrom: 0.1.0
-- concurrent
-- cells
-- The few incidents about unread items are looked for every ten seconds.
CREATE INDEX incident_unread ON incident (account_id) WHERE state = 'open' AND kind = 'unread';
