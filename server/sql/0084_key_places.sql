-- compatibleFrom: 0.1.0
-- cells
-- Look-ups at the central directory that found no Pix key, or that may still find none, of each account: {payment id: ms since 1970}. One that is
-- known to have found none without a payment has a negative time. At most as many members as the account may miss in an hour.
CREATE UNLOGGED TABLE key_place (
  account_id  uuid PRIMARY KEY,
  places      jsonb NOT NULL
) WITH (fillfactor = 50);
GRANT SELECT, INSERT, UPDATE ON key_place TO vintem_app;
