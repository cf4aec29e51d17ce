-- compatibleFrom: 0.1.0
-- cells
-- How a payment link can be paid. Links that were made before take Pix alone.
ALTER TABLE payment_link ADD COLUMN takes_pix boolean NOT NULL DEFAULT true;
ALTER TABLE payment_link ADD COLUMN takes_card boolean NOT NULL DEFAULT false;
ALTER TABLE payment_link ADD CONSTRAINT payment_link_takes CHECK (takes_pix OR takes_card) NOT VALID;
