-- compatibleFrom: 0.1.0
-- Items for a person: `key` can be read, and says that something happened to an API key at the provider.
ALTER TABLE unread_item DROP CONSTRAINT unread_item_kind_check;
ALTER TABLE unread_item ADD CONSTRAINT unread_item_kind_check CHECK (kind IN (
  'charge', 'payout', 'received', 'sent', 'refund', 'return', 'dispute', 'report', 'delivery', 'key', 'span'));
