-- compatibleFrom: 0.1.0
-- A line of the provider's costs that cannot be read is a person's to decide about, as every other item.
ALTER TABLE unread_item DROP CONSTRAINT unread_item_kind_check;
ALTER TABLE unread_item ADD CONSTRAINT unread_item_kind_check CHECK (kind IN (
  'charge', 'payout', 'received', 'sent', 'refund', 'return', 'cost', 'dispute', 'report', 'delivery', 'key', 'span'));
