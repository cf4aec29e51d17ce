-- compatibleFrom: 0.1.0
-- concurrent
-- cells
-- Operators and unmatched money look for a Pix over all accounts: its end-to-end id comes first, so that it is one look whatever number of accounts there
-- is. The worklist reads the incidents that are open, the oldest first, and none of those that were resolved before them; disputes by their deadlines.
CREATE INDEX payment_of_pix ON payment (end_to_end, account_id) WHERE end_to_end IS NOT NULL;
DROP INDEX payment_end_to_end;
CREATE INDEX incident_open_oldest ON incident (opened_at, id) WHERE state = 'open';
CREATE INDEX dispute_next ON dispute (deadline_at, id) WHERE ended_at IS NULL;
