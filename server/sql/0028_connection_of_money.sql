-- An older program would call the new form of journals changed ones: it must not run beside.
-- Which connection moved the money of a payment and of a journal. Rows from before name none: theirs is the account's first one.

-- The connection that the account was bound to before it was moved for the first time; null: it was never moved.
ALTER TABLE account ADD COLUMN first_connection text;
-- Money that matched no payment stands under the installation's own account, which is bound to none.
UPDATE account SET first_connection = CASE WHEN EXISTS (SELECT FROM connection WHERE id = 'live') THEN 'live' ELSE 'simulator' END
  WHERE number = 0;

-- Null: the payment is older than this column. It changes only before anything was sent.
ALTER TABLE payment ADD COLUMN connection text;

-- Of the clearing line; null where there is none, and in journals of version 1, whose hash does not hold it.
ALTER TABLE journal ADD COLUMN connection text;
ALTER TABLE journal ADD CONSTRAINT journal_connection
  CHECK (version = 1 AND connection IS NULL OR version > 1 AND (connection IS NULL) = (clearing = 0)) NOT VALID;

-- The provider's own name of a payout, where its queries need one.
ALTER TABLE intent ADD COLUMN provider_ref text;
