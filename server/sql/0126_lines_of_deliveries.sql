-- compatibleFrom: 0.1.0
-- In whose turn a delivery is applied that was left: the number of the account that it names; 0: it names none, or several. Null: stored by an earlier
-- version, and applied in the order of time alone.
ALTER TABLE inbound ADD COLUMN line bigint;
