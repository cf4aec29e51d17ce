-- compatibleFrom: 0.1.0
-- cells
-- A payment link may ask its payers for a CPF or CNPJ, which goes to the provider with the charge.
ALTER TABLE payment_link ADD COLUMN document_field text NOT NULL DEFAULT 'none';
ALTER TABLE payment_link ADD CONSTRAINT payment_link_document_field_check
  CHECK (document_field IN ('none', 'optional', 'required')) NOT VALID;

-- The name and document that the payer gave there, sealed with the payment's id as context; and the document with most of it masked, for the merchant.
ALTER TABLE payment ADD COLUMN link_payer bytea;
ALTER TABLE payment ADD COLUMN payer_document text;
ALTER TABLE payment ADD CONSTRAINT payment_link_payer
  CHECK ((link_payer IS NULL OR payment_link_id IS NOT NULL) AND (payer_document IS NULL OR link_payer IS NOT NULL)) NOT VALID;
