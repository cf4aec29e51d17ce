-- compatibleFrom: 0.1.0
-- concurrent
-- cells
-- Card payments whose attempts are used up and whose page is still open: there are few, and each for a moment.
CREATE INDEX payment_card_used_up ON payment (account_id, id) WHERE status = 'pending' AND (card ->> 'refusals')::int >= 3;
