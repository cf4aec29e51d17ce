-- compatibleFrom: 0.1.0
-- cells
-- Tables without a primary key: what a logical copy of a cell (Citus moves one so, while it is written) takes for the identity of a row. It
-- costs nothing where `wal_level` is below `logical`.
ALTER TABLE event_fresh REPLICA IDENTITY FULL;
ALTER TABLE webhook_url_change REPLICA IDENTITY FULL;
