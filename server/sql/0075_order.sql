-- compatibleFrom: 0.1.0
-- cells
-- News has the same end in every order. A dispute that is read before its Pix is posted holds with the posting: the payment's row, which the
-- posting reads anyway, says that there is one.
ALTER TABLE payment ADD COLUMN disputed boolean NOT NULL DEFAULT false;

-- What a person decides about a hold is a state: disputes whose hold was released want nothing until another dispute of the Pix holds.
ALTER TABLE hold ADD COLUMN released_by text;
ALTER TABLE dispute ADD COLUMN released_at timestamptz;

-- One Pix, one booking: the end-to-end id of the Pix that a journal books as received. Null: it books none.
ALTER TABLE journal ADD COLUMN pix text;
