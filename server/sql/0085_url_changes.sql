-- compatibleFrom: 0.1.0
-- cells
-- Changes of addresses that count no more are removed in steps by a worker, and no longer by the call that counts them.
CREATE INDEX webhook_url_change_at ON webhook_url_change (changed_at);
