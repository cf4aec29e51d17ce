-- compatibleFrom: 0.1.0
-- cells
-- The document that a payer gave at a link stands masked beside the sealed one: in `link_payer` of a charge by Pix, in `payer` of one by card.
ALTER TABLE payment DROP CONSTRAINT payment_link_payer;
ALTER TABLE payment ADD CONSTRAINT payment_link_payer CHECK ((link_payer IS NULL OR payment_link_id IS NOT NULL)
  AND (payer_document IS NULL OR link_payer IS NOT NULL OR (payment_link_id IS NOT NULL AND card IS NOT NULL AND payer IS NOT NULL))) NOT VALID;
