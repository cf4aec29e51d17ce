-- compatibleFrom: 0.1.0
-- The console shows the closes of all connections, the newest day first.
CREATE INDEX connection_close_day ON connection_close (day DESC, connection);
