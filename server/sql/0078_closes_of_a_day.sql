-- compatibleFrom: 0.1.0
-- concurrent
-- cells
-- The console shows the operations' closes of a day, by account.
CREATE INDEX day_close_day ON day_close (day, account_id, chain_id);
