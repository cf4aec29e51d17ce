-- compatibleFrom: 0.1.0
-- What the provider has not sent for long is removed in steps, whatever is due.
CREATE INDEX unread_item_seen ON unread_item (seen_at);
