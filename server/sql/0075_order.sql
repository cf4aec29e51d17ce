-- compatibleFrom: 0.1.0
-- cells
-- News has the same end in every order. A dispute that is read before its Pix is posted holds with the posting: the payment's row, which the
-- posting reads anyway, says that there is one.
ALTER TABLE payment ADD COLUMN disputed boolean NOT NULL DEFAULT false;
UPDATE payment p SET disputed = true FROM dispute d WHERE d.account_id = p.account_id AND d.payment_id = p.id;

-- What a person decides about a hold is a state: disputes whose hold was released want nothing until another dispute of the Pix holds.
ALTER TABLE hold ADD COLUMN released_by text;
ALTER TABLE dispute ADD COLUMN released_at timestamptz;
UPDATE hold h SET released_by = a.actor
  FROM audit a WHERE a.account_id = h.account_id AND a.action = 'hold.release' AND a.subject = h.id::text;
UPDATE dispute d SET released_at = h.released_at
  FROM hold h WHERE h.account_id = d.account_id AND h.id = d.hold_id AND h.released_by IS NOT NULL;
