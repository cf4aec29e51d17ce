-- compatibleFrom: 0.1.0
-- cells
-- How long the code of a charge lives, where its merchant asked for it; null: as the setting says. A send that is repeated asks for the same.
ALTER TABLE payment ADD COLUMN expires_in_minutes integer;
-- Every row has null: nothing is there to check, and a check of all rows would lock out writes for as long.
ALTER TABLE payment ADD CONSTRAINT payment_expires_in_minutes_check CHECK (expires_in_minutes > 0) NOT VALID;
