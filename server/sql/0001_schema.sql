-- The schema of vintem 0.1.0, in the order of its domain. A change is a file of its own beside this one (`store/database/migration-file.ts`).
--
-- Everything lives in schema vintem, owned by vintem_owner; the service works as vintem_app. All ids and times come from the program.
-- A cell is a schema with its own copy of every table that belongs to accounts; the directory, which all accounts share, stands in vintem alone
-- (`directoryTables` in `store/database/cells.ts`). Primary and unique keys begin with the account, except in the directory.
GRANT USAGE ON SCHEMA vintem TO vintem_app;

-- ------------------------------------------------------------------------------------------------------- the installation

-- The installation itself, in one row: its identity, the pause of all withdrawals, what a restore left open, and what monitoring asks about.
CREATE TABLE installation (
  id                         smallint PRIMARY KEY CHECK (id = 1),
  -- 32 bytes, made at the first start and never changed: payment ids and fingerprints are HMACs under it.
  identity_secret            bytea NOT NULL,
  withdrawals_paused_at      timestamptz,
  withdrawals_paused_reason  text,
  -- Set by a restore: until a reconciliation has ended, every new intent counts as one unclear attempt.
  restored_at                timestamptz,
  created_at                 timestamptz NOT NULL,
  -- Names the secret of the installation; derived from it with HKDF, and says nothing about it. Null until the next start.
  secret_id                  text,
  -- Up to which day every chain is closed.
  closed_day                 date,
  -- The last `vintem verify` over all accounts, and whether nothing was broken.
  verified_at                timestamptz,
  verified_ok                boolean,
  -- The moment that the newest `vintem backup` is a copy of.
  backed_up_at               timestamptz,
  -- Connections whose payouts of a time that a restore lost were never compared, since their providers list none: there a payout may have been
  -- sent in that time, so a refusal of its first send proves nothing. Ended by an operator (`vintem provider compared`).
  uncompared_connections     text[] NOT NULL DEFAULT '{}',
  -- Since when the database may have lost what happened, while a comparison with the providers is wanted (`restored_at`); null: since the newest
  -- payment that it had then.
  lost_since                 timestamptz,
  CONSTRAINT installation_verified CHECK ((verified_at IS NULL) = (verified_ok IS NULL))
);
GRANT SELECT, INSERT, UPDATE ON installation TO vintem_app;

-- Cells: a schema with every table of some accounts. The schema vintem is the directory, which all accounts share, and the first cell.
CREATE TABLE cell (
  -- Its schema.
  name        text PRIMARY KEY CHECK (name ~ '^vintem(_[1-9][0-9]{0,3})?$'),
  created_at  timestamptz NOT NULL,
  -- Takes new accounts.
  open        boolean NOT NULL DEFAULT true
);
INSERT INTO cell (name, created_at) VALUES ('vintem', now());
GRANT SELECT, UPDATE ON cell TO vintem_app;

-- Which cells have a migration of `-- cells`; those of the first one stand in `migration`.
CREATE TABLE cell_migration (
  cell        text NOT NULL REFERENCES cell,
  name        text NOT NULL,
  applied_at  timestamptz NOT NULL,
  PRIMARY KEY (cell, name)
);
GRANT SELECT ON cell_migration TO vintem_app;

-- Every secret that a process sealed under. A process writes its row before it seals anything and renews it while it runs:
-- the table lists every secret that may be needed, and no start has to read all sealed values.
CREATE TABLE sealing_secret (
  id          text PRIMARY KEY,
  used_at     timestamptz NOT NULL,
  -- When nothing was sealed under it any more.
  cleared_at  timestamptz
);
GRANT SELECT, INSERT, UPDATE ON sealing_secret TO vintem_app;

-- The pepper of API keys that were made under a secret that is not current any more. Keys are stored as a hash alone, so they
-- cannot be hashed again under the new pepper before they are used: the old pepper stays instead, sealed with its id as context.
CREATE TABLE retired_pepper (
  id      text PRIMARY KEY,
  sealed  bytea NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON retired_pepper TO vintem_app;

-- The mark that every process remembers, in its memory and in a file beside the database, of rows that it saw committed: one every few seconds. A database
-- that lacks a row that a process has seen went back to an earlier moment, whatever took it there.
CREATE TABLE database_mark (
  seq         bigint PRIMARY KEY,
  -- Random: after a loss another row takes the same number.
  token       uuid NOT NULL,
  written_at  timestamptz NOT NULL
);
GRANT SELECT, INSERT, DELETE ON database_mark TO vintem_app;

-- Losses that were noted. What a process remembers of a time between the two is no new loss.
CREATE TABLE lost_time (
  noted_at  timestamptz PRIMARY KEY,
  since     timestamptz NOT NULL,
  noted_by  text NOT NULL
);
GRANT SELECT, INSERT ON lost_time TO vintem_app;

-- Work that is done again and again, by one process at a time: of a connection, or of the whole installation (an empty subject). The process that takes it moves
-- `due_at` on for as long as it may take, and to the next turn when it has ended. A row that was not made yet is made by the first turn.
CREATE TABLE job (
  what     text NOT NULL,
  subject  text NOT NULL,
  due_at   timestamptz NOT NULL,
  PRIMARY KEY (what, subject)
) WITH (fillfactor = 50);
GRANT SELECT, INSERT, UPDATE ON job TO vintem_app;

-- The workers that run, so that each of them has its share of the cells. Only load follows from it: two workers in one cell do no harm.
CREATE UNLOGGED TABLE worker (
  id           uuid PRIMARY KEY,
  -- By the database's clock. A worker that died or stands still is gone then, and the others share its cells.
  alive_until  timestamptz NOT NULL
) WITH (fillfactor = 50);
GRANT SELECT, INSERT, UPDATE, DELETE ON worker TO vintem_app;

-- The table that the readiness check writes to and rolls back, to see that there is still room on the disk. Every row fills a page of its own.
CREATE UNLOGGED TABLE write_probe (
  filling  text NOT NULL
);
-- A statement of its own: CREATE TABLE takes a storage only from PostgreSQL 16 on.
ALTER TABLE write_probe ALTER COLUMN filling SET STORAGE PLAIN;
GRANT INSERT ON write_probe TO vintem_app;

-- ----------------------------------------------------------------------------------------------- connections to providers

-- Connections to providers: one account of the company at one provider each. Those of the environment, `simulator` for test accounts and
-- `live`, have no adapter here.
CREATE TABLE connection (
  id                      text PRIMARY KEY,
  -- The secret part of the address that the provider delivers to.
  webhook_token           text NOT NULL,
  -- The shared query limit as a token bucket with one timestamp (GCRA), and the leases of the queries under way.
  query_bucket_at         timestamptz NOT NULL,
  -- The secret part of the address before the last change: a provider that does not know the new one still delivers there.
  webhook_token_previous  text,
  -- How far the provider's statement has been read; null: not yet.
  statement_read_to       timestamptz,
  -- When the reading of the provider's statement that is under way began: it reads up to there, in as many turns as that takes; null: none is.
  statement_pass_at       timestamptz,
  -- The day whose report is read next, and the report that was requested for it.
  report_day              date,
  report_id               text,
  -- The protocol; null: the connection is one of the environment.
  adapter                 text,
  -- `own`: the provider's account belongs to one merchant, and one account may bind it.
  mode                    text NOT NULL DEFAULT 'shared' CHECK (mode IN ('shared', 'own')),
  -- No money moves: its accounts are test accounts.
  test                    boolean NOT NULL DEFAULT false,
  -- It is the simulator of this installation; its address is the setting's.
  simulated               boolean NOT NULL DEFAULT false,
  url                     text,
  -- Sealed JSON with the connection's name as context: the current credentials, and those before them.
  credentials             bytea,
  certificate_expires_at  timestamptz,
  state                   text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'retired')),
  -- Counts changes: running processes see by it that a connection is another one now.
  version                 integer NOT NULL DEFAULT 1,
  created_at              timestamptz,
  -- Since when the report of `report_day` has been asked for, and when the one of `report_id` was requested: a report that stays
  -- pending is requested again, and one that never comes is set aside, so that later days are read.
  report_since            timestamptz,
  report_requested_at     timestamptz,
  -- The amount that can be paid out of the provider's account, as it said at `balance_read_at`.
  balance_cents           bigint,
  balance_read_at         timestamptz,
  -- Which account at the provider is behind a connection, as a digest (`provider/identity.ts`); null: it was never asked for. What was sent to one account is
  -- never repeated at another.
  identity                text,
  -- The second reading of the provider's lists, for what they showed late: how far it came, and the pass that is under way (null: none is).
  late_read_to            timestamptz,
  late_pass_at            timestamptz,
  -- Up to where the provider's list of costs has been read.
  costs_read_to           timestamptz,
  -- The provider's last word on blocked money in its account: by a court, for contested Pix (MED), in all (precautionary blocks
  -- included). Null: it does not say it.
  blocked_judicial_cents  bigint CHECK (blocked_judicial_cents >= 0),
  blocked_med_cents       bigint CHECK (blocked_med_cents >= 0),
  blocked_total_cents     bigint CHECK (blocked_total_cents >= 0),
  -- Who holds the account at the provider, as its CNPJ without points and lines; null: it is not known.
  holder_cnpj             text CHECK (holder_cnpj ~ '^[0-9A-Z]{12}[0-9]{2}$'),
  -- The address of the service that was last registered at the provider for deliveries; null: none yet.
  webhook_base            text,
  -- A connection behind which another account stands than before is held: nothing is sent and nothing is asked for over it. Since when, why, and when a
  -- process said last that it holds it; null: none does.
  held_since              timestamptz,
  held_seen_at            timestamptz,
  held_reason             text,
  CONSTRAINT connection_made CHECK ((adapter IS NULL) = (credentials IS NULL) AND (adapter IS NULL OR simulated OR url IS NOT NULL)),
  CONSTRAINT connection_balance CHECK ((balance_cents IS NULL) = (balance_read_at IS NULL))
);
GRANT SELECT, INSERT, UPDATE, DELETE ON connection TO vintem_app;

-- Leases of the queries under way, as many as a connection may have at once.
CREATE TABLE query_slot (
  connection   text NOT NULL REFERENCES connection,
  slot         smallint NOT NULL,
  lease_until  timestamptz NOT NULL,
  PRIMARY KEY (connection, slot)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON query_slot TO vintem_app;

-- Slots for sends, where the adapter limits how many may be under way at once.
CREATE TABLE send_slot (
  connection   text NOT NULL REFERENCES connection,
  slot         smallint NOT NULL,
  lease_until  timestamptz NOT NULL,
  PRIMARY KEY (connection, slot)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON send_slot TO vintem_app;

-- Circuit breakers: one row for each connection and kind of call. Its caller writes it on a change, and every flush reads it.
CREATE TABLE breaker (
  connection  text NOT NULL REFERENCES connection,
  call        text NOT NULL,
  open        boolean NOT NULL,
  probe_at    timestamptz NOT NULL,
  changed_at  timestamptz NOT NULL,
  PRIMARY KEY (connection, call)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON breaker TO vintem_app;

-- Raw deliveries of the providers, stored before anything else is done with them. Encrypted.
CREATE TABLE inbound (
  id           uuid PRIMARY KEY,
  connection   text NOT NULL REFERENCES connection,
  received_at  timestamptz NOT NULL,
  body         bytea NOT NULL,
  authentic    boolean NOT NULL,
  applied_at   timestamptz,
  -- Tries that failed, and when the next one is due: until then its own process is expected to apply it.
  tries        integer NOT NULL DEFAULT 0,
  next_at      timestamptz NOT NULL
);
CREATE INDEX inbound_open ON inbound (connection, next_at) WHERE applied_at IS NULL AND authentic;
-- For retention.
CREATE INDEX inbound_received ON inbound (received_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON inbound TO vintem_app;

-- Lines of the provider's statement that have no answer yet, each with its own retries, so that none of them stops the reading.
CREATE TABLE statement_line (
  connection     text NOT NULL REFERENCES connection,
  -- `reported`: a return that a day report names.
  kind           text NOT NULL CHECK (kind IN ('received', 'sent', 'returned', 'debited', 'reported')),
  -- The provider's id of the movement.
  reference      text NOT NULL,
  -- Null where a report does not say it.
  amount_cents   bigint,
  -- Of a return that has one.
  rtr_id         text,
  end_to_end     text,
  provider_id    text,
  moved_at       timestamptz NOT NULL,
  first_seen_at  timestamptz NOT NULL,
  tries          integer NOT NULL,
  -- When it is looked up next; a lease as well.
  next_at        timestamptz NOT NULL,
  -- Why the last try had no answer; null: there was none yet.
  problem        text,
  PRIMARY KEY (connection, kind, reference)
);
CREATE INDEX statement_line_due ON statement_line (connection, next_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON statement_line TO vintem_app;

-- Items that a provider sent and no reader could read, kept until they can be read or a person has dealt with them.
CREATE TABLE unread_item (
  id               uuid PRIMARY KEY,
  connection       text NOT NULL REFERENCES connection,
  kind             text NOT NULL
    CHECK (kind IN ('charge', 'payout', 'received', 'sent', 'refund', 'return', 'dispute', 'report', 'delivery', 'span')),
  -- Its name: an id in it, or the hash of its body.
  reference        text NOT NULL,
  provider_id      text,
  end_to_end       text,
  -- As it came, sealed: at most 16 KiB of it.
  body             bytea NOT NULL,
  first_seen_at    timestamptz NOT NULL,
  seen_at          timestamptz NOT NULL,
  tries            integer NOT NULL,
  -- When it is asked for again; a lease as well.
  next_at          timestamptz NOT NULL,
  -- From when on it is an incident.
  incident_due_at  timestamptz NOT NULL,
  -- The incident that names it; null: none does yet.
  incident_id      uuid,
  -- A person has dealt with it: it stays known for as long as the provider sends it.
  dismissed_at     timestamptz,
  UNIQUE (connection, kind, reference)
);
CREATE INDEX unread_item_due ON unread_item (connection, next_at);
-- Items that the provider has not sent for long are removed in steps, whatever is due.
CREATE INDEX unread_item_seen ON unread_item (seen_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON unread_item TO vintem_app;

-- Movements in the provider's account that belong to no merchant: its costs, and the company's own money. Each is kept once, and
-- many are posted as one journal on the installation's chain.
CREATE TABLE connection_movement (
  connection    text NOT NULL REFERENCES connection,
  kind          text NOT NULL CHECK (kind IN ('cost', 'own')),
  -- Its name at this connection, whatever the source: the Pix and its direction, the provider's own line, or a person's request key.
  reference     text NOT NULL,
  -- As the provider's account changed: below zero, it left.
  amount_cents  bigint NOT NULL CHECK (amount_cents <> 0),
  moved_at      timestamptz NOT NULL,
  source        text NOT NULL CHECK (source IN ('delivery', 'report', 'statement', 'person')),
  found_at      timestamptz NOT NULL,
  -- The reference of the journal that holds it; null: it is not posted yet.
  posted_as     text,
  PRIMARY KEY (connection, kind, reference)
);
CREATE INDEX connection_movement_unposted ON connection_movement (connection) WHERE posted_as IS NULL;
CREATE INDEX connection_movement_posted ON connection_movement (posted_as) WHERE posted_as IS NOT NULL;
CREATE INDEX connection_movement_moved ON connection_movement (connection, moved_at);
GRANT SELECT, INSERT ON connection_movement TO vintem_app;
GRANT UPDATE (posted_as) ON connection_movement TO vintem_app;

-- Ids that the provider's lists showed, while one comparison runs: millions of them do not fit into memory. Logged, so that after a crash
-- or a promotion a comparison under way never takes a listed payment for a missing one.
CREATE TABLE reconcile_seen (
  -- The comparison; a UUIDv7, so that what an ended process left behind is found by its age.
  run          uuid NOT NULL,
  provider_id  text COLLATE "C" NOT NULL,
  PRIMARY KEY (run, provider_id)
);
GRANT SELECT, INSERT, DELETE ON reconcile_seen TO vintem_app;

-- A payment that a provider lists under an id of ours and the books lack: it was made in a time that was lost. The id names the account. The row ends
-- when the merchant repeats the request: the payment is then made on this connection, and never sent.
CREATE TABLE lost_payment (
  account_id    uuid NOT NULL,
  payment_id    uuid NOT NULL,
  -- Where the provider lists it.
  connection    text NOT NULL,
  kind          text NOT NULL CHECK (kind IN ('deposit', 'transfer')),
  -- As the provider says it; a line of a statement says only that money moved.
  status        text NOT NULL CHECK (status IN ('open', 'pending', 'settled', 'refused')),
  -- The provider's own name of it from its first answer, where its queries need that.
  provider_ref  text,
  found_at      timestamptz NOT NULL,
  -- A person has looked: it no longer stops the account's withdrawals.
  decided_at    timestamptz,
  -- The account at the provider that lists it (`connection.identity`): the payment that the merchant's repeat brings back is there; null: found before
  -- it was kept.
  identity      text,
  PRIMARY KEY (account_id, payment_id)
);
CREATE INDEX lost_payment_stops ON lost_payment (account_id) WHERE kind = 'transfer' AND status <> 'refused' AND decided_at IS NULL;
GRANT SELECT, INSERT, UPDATE, DELETE ON lost_payment TO vintem_app;

-- --------------------------------------------------------------------------------------------------------------- accounts

-- Merchants: their conditions, fees and limits, and which connection carries their money. Number 0 is the installation itself.
CREATE TABLE account (
  id                              uuid PRIMARY KEY,
  -- 32 bits, random: the first four bytes of every payment id. 0 is the installation itself.
  number                          bigint NOT NULL UNIQUE CHECK (number BETWEEN 0 AND 4294967295),
  name                            text NOT NULL,
  test                            boolean NOT NULL,
  connection                      text NOT NULL,
  enabled                         boolean NOT NULL DEFAULT true,
  withdrawals_blocked             boolean NOT NULL DEFAULT false,
  withdrawal_fee_cents            bigint NOT NULL DEFAULT 25 CHECK (withdrawal_fee_cents >= 0),
  withdrawal_fee_bps              integer NOT NULL DEFAULT 0 CHECK (withdrawal_fee_bps BETWEEN 0 AND 10000),
  deposit_fee_cents               bigint NOT NULL DEFAULT 0 CHECK (deposit_fee_cents >= 0),
  deposit_fee_bps                 integer NOT NULL DEFAULT 0 CHECK (deposit_fee_bps BETWEEN 0 AND 10000),
  minimum_deposit_cents           bigint NOT NULL DEFAULT 200 CHECK (minimum_deposit_cents >= 200),
  maximum_deposit_cents           bigint NOT NULL DEFAULT 200000 CHECK (maximum_deposit_cents <= 200000),
  minimum_withdrawal_cents        bigint NOT NULL DEFAULT 1000 CHECK (minimum_withdrawal_cents >= 1000),
  maximum_withdrawal_cents        bigint NOT NULL DEFAULT 1000000 CHECK (maximum_withdrawal_cents <= 1000000),
  created_at                      timestamptz NOT NULL,
  -- {policy: {perSecond, burst}}: what differs from the installation's.
  rate_quotas                     jsonb NOT NULL DEFAULT '{}',
  -- Members of a live account have so many days to set up a second factor. Counted from when they joined, or from
  -- `second_factor_since` for those who were there already.
  second_factor_grace_days        smallint NOT NULL DEFAULT 7 CHECK (second_factor_grace_days BETWEEN 0 AND 30),
  second_factor_since             timestamptz,
  -- The odd money that goes back by itself, and how long after it arrived: until then a person can stop it.
  return_odd_money                text NOT NULL DEFAULT 'never' CHECK (return_odd_money IN ('never', 'second_payment', 'all')),
  return_odd_money_after_minutes  integer NOT NULL DEFAULT 10 CHECK (return_odd_money_after_minutes BETWEEN 0 AND 10080),
  -- Money that arrived before the rule is left to people.
  return_odd_money_since          timestamptz,
  -- The connection that the account was bound to before it was moved for the first time; null: it was never moved.
  first_connection                text,
  -- For its whole life.
  cell                            text NOT NULL DEFAULT 'vintem' REFERENCES cell,
  -- Connections that a new charge goes to, in this order, while the account's own takes none. Payouts go over the account's own alone.
  charge_fallback                 text[] NOT NULL DEFAULT '{}',
  -- Whether a refund gives back its part of the charge's fee.
  refund_fees                     text NOT NULL DEFAULT 'kept' CONSTRAINT account_refund_fees_check
    CHECK (refund_fees IN ('kept', 'returned')),
  -- The account has rows there: read with its conditions, so that other accounts cost nothing.
  lost_payments                   boolean NOT NULL DEFAULT false,
  CHECK (minimum_deposit_cents <= maximum_deposit_cents),
  CHECK (minimum_withdrawal_cents <= maximum_withdrawal_cents),
  -- The clock of a test account: how far its time is ahead of ours, and where it is being moved to. A live account can have none.
  CONSTRAINT account_id_test UNIQUE (id, test)
);
CREATE INDEX account_cell ON account (cell);
GRANT SELECT, INSERT, UPDATE ON account TO vintem_app;

-- API keys of accounts. A key itself is not stored, only its HMAC.
CREATE TABLE api_key (
  -- The public part of the key: 12 base62 characters.
  id               text PRIMARY KEY,
  account_id       uuid NOT NULL REFERENCES account,
  name             text NOT NULL,
  permissions      text[] NOT NULL,
  -- HMAC-SHA-256 of the whole key under the pepper named by pepper_id.
  hash             bytea NOT NULL,
  pepper_id        text NOT NULL,
  created_at       timestamptz NOT NULL,
  expires_at       timestamptz,
  revoked_at       timestamptz,
  last_used_at     timestamptz,
  -- Addresses and networks from which the key may be used; empty: from everywhere.
  ips              text[] NOT NULL DEFAULT '{}',
  -- The key that follows it: this one ends with its overlap, and its name is free.
  rolled_to        text,
  last_used_ip     text,
  last_used_agent  text,
  -- A key that may send money and is not used for half a year rests until a person wakes it.
  woken_at         timestamptz,
  -- A key that was not used for 90 days is named in a mail, once until it is used again.
  warned_at        timestamptz,
  -- One process at a time is about to write that mail.
  warning_until    timestamptz,
  -- Who made it in the panel; null: the operator did.
  created_by       uuid
);
CREATE INDEX api_key_account ON api_key (account_id, created_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON api_key TO vintem_app;

-- Token buckets of the rate limits, so that all processes count together. Not logged: after a crash every bucket is full
-- again, which does no harm.
CREATE UNLOGGED TABLE rate_bucket (
  -- Policy and owner (key, account, address).
  id           text PRIMARY KEY,
  -- The instant up to which it is spent, in ms since 1970 with fractions: 300 a second is 3 1/3 ms each.
  spent_until  double precision NOT NULL
) WITH (fillfactor = 50);
GRANT SELECT, INSERT, UPDATE, DELETE ON rate_bucket TO vintem_app;

-- Business operations of an account, one to ten that live, one of them the main operation.
CREATE TABLE operation (
  account_id  uuid NOT NULL REFERENCES account,
  id          uuid NOT NULL,
  name        text NOT NULL CHECK (char_length(name) BETWEEN 2 AND 64),
  -- 1 to 10 while it lives, so that an eleventh cannot exist; null once deleted.
  slot        smallint CHECK (slot BETWEEN 1 AND 10),
  -- true on the main operation and null elsewhere, so that two cannot exist.
  main        boolean CHECK (main),
  created_at  timestamptz NOT NULL,
  updated_at  timestamptz NOT NULL,
  deleted_at  timestamptz,
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, slot),
  UNIQUE (account_id, main),
  CHECK ((slot IS NULL) = (deleted_at IS NOT NULL)),
  CHECK (main IS NULL OR deleted_at IS NULL)
);
-- An operator names an operation or an incident by its id alone.
CREATE INDEX operation_by_id ON operation (id);
-- Deleted operations stay, with their balance rows.
CREATE INDEX operation_live ON operation (account_id, created_at, id) WHERE deleted_at IS NULL;
GRANT SELECT, INSERT, UPDATE ON operation TO vintem_app;

-- Request keys of operations and webhooks; those of payments are the payments themselves. One namespace per account.
CREATE TABLE request_key (
  account_id   uuid NOT NULL,
  request_key  uuid NOT NULL,
  resource     text NOT NULL,
  resource_id  uuid NOT NULL,
  fingerprint  bytea NOT NULL,
  created_at   timestamptz NOT NULL,
  PRIMARY KEY (account_id, request_key)
);
GRANT SELECT, INSERT ON request_key TO vintem_app;

-- How a merchant shows itself on receipts, in mails and to payers. No row: by the account's name alone.
CREATE TABLE merchant_profile (
  account_id    uuid PRIMARY KEY,
  display_name  text CHECK (char_length(display_name) BETWEEN 2 AND 60),
  -- Without points and lines; with letters since 2026.
  cnpj          text CHECK (cnpj ~ '^[0-9A-Z]{12}[0-9]{2}$'),
  colour        text CHECK (colour ~ '^#[0-9a-f]{6}$'),
  -- A PNG that this program has written itself, from the pixels of what was sent.
  logo          bytea CHECK (octet_length(logo) <= 262144),
  updated_at    timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON merchant_profile TO vintem_app;

-- Receivers that people of an account keep for their next transfer.
CREATE TABLE saved_receiver (
  account_id    uuid NOT NULL,
  id            uuid NOT NULL,
  name          text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 60),
  pix_key_type  text NOT NULL,
  -- Sealed under `id`, as the keys of transfers are.
  pix_key       bytea NOT NULL,
  created_by    uuid NOT NULL,
  created_at    timestamptz NOT NULL,
  PRIMARY KEY (account_id, id)
);
GRANT SELECT, INSERT, DELETE ON saved_receiver TO vintem_app;

-- Look-ups at the central directory that found no Pix key, or that may still find none, of each account: {payment id: ms since 1970}. One that is
-- known to have found none without a payment has a negative time. At most as many members as the account may miss in an hour.
CREATE UNLOGGED TABLE key_place (
  account_id  uuid PRIMARY KEY,
  places      jsonb NOT NULL
) WITH (fillfactor = 50);
GRANT SELECT, INSERT, UPDATE ON key_place TO vintem_app;

-- How much an account may still store of what is kept for convenience alone (answers of endpoints, the log of requests), as in `rate_bucket`: one
-- instant, up to which the budget is used up, in ms since 1970. A crash of PostgreSQL forgets it: the budgets are full again.
CREATE UNLOGGED TABLE storage_budget (
  account_id   uuid NOT NULL,
  kind         text NOT NULL,
  spent_until  double precision NOT NULL,
  -- Bytes that the last taker got: less than it asked for when there was less left.
  granted      bigint NOT NULL,
  PRIMARY KEY (account_id, kind)
) WITH (fillfactor = 50);
GRANT SELECT, INSERT, UPDATE ON storage_budget TO vintem_app;

-- The clock of a test account: how far its time is ahead of the real one, and where it is being moved to. A live account can have none.
CREATE TABLE test_clock (
  account_id       uuid PRIMARY KEY,
  test             boolean NOT NULL DEFAULT true CHECK (test),
  -- Two years at most.
  ahead_ms         bigint NOT NULL DEFAULT 0 CHECK (ahead_ms BETWEEN 0 AND 63158400000),
  -- Null: it stands.
  target_ahead_ms  bigint CHECK (target_ahead_ms BETWEEN ahead_ms AND 63158400000),
  -- When it was last moved: what is due at this moment gets its time before the next move.
  moved_at         timestamptz NOT NULL,
  FOREIGN KEY (account_id, test) REFERENCES account (id, test)
);
CREATE INDEX test_clock_moving ON test_clock (moved_at) WHERE target_ahead_ms IS NOT NULL;
GRANT SELECT, INSERT, UPDATE, DELETE ON test_clock TO vintem_app;

-- Every move, so that a deadline knows how much of the time ahead came after it was set.
CREATE TABLE test_clock_move (
  account_id  uuid NOT NULL,
  -- After the move.
  ahead_ms    bigint NOT NULL,
  at          timestamptz NOT NULL,
  PRIMARY KEY (account_id, ahead_ms)
);
GRANT SELECT, INSERT ON test_clock_move TO vintem_app;

-- ------------------------------------------------------------------------------------------------------------- the ledger

-- One row per operation and, under the account's own id, one for journals without a live operation (only seq and head are
-- used there). The only row that a payment locks.
CREATE TABLE balance (
  account_id    uuid NOT NULL REFERENCES account,
  operation_id  uuid NOT NULL,
  available     bigint NOT NULL DEFAULT 0 CHECK (available >= 0),
  reserved      bigint NOT NULL DEFAULT 0 CHECK (reserved >= 0),
  held          bigint NOT NULL DEFAULT 0 CHECK (held >= 0),
  receivable    bigint NOT NULL DEFAULT 0 CHECK (receivable >= 0),
  hold_wanted   bigint NOT NULL DEFAULT 0 CHECK (hold_wanted >= 0),
  -- Withdrawals of this operation are frozen by an incident.
  frozen        boolean NOT NULL DEFAULT false,
  seq           bigint NOT NULL DEFAULT 0,
  head          bytea NOT NULL,
  -- The last posting that changed what the merchant can see as the balance.
  updated_at    timestamptz NOT NULL,
  deleted_at    timestamptz,
  PRIMARY KEY (account_id, operation_id)
) WITH (fillfactor = 50);
CREATE INDEX balance_live ON balance (account_id, operation_id) WHERE deleted_at IS NULL;
GRANT SELECT, INSERT, UPDATE ON balance TO vintem_app;

-- A journal with its lines as columns, credit-positive: they sum to zero. Insert only.
CREATE TABLE journal (
  account_id        uuid NOT NULL,
  -- The operation's id, or the account's own for its second chain.
  chain_id          uuid NOT NULL,
  seq               bigint NOT NULL CHECK (seq > 0),
  template          text NOT NULL,
  -- The event reference: of what, which kind, and the provider's id where one event may come several times.
  subject           uuid NOT NULL,
  event             smallint NOT NULL,
  reference         text NOT NULL,
  available         bigint NOT NULL,
  reserved          bigint NOT NULL,
  held              bigint NOT NULL,
  receivable        bigint NOT NULL,
  clearing          bigint NOT NULL,
  fee_revenue       bigint NOT NULL,
  provider_cost     bigint NOT NULL,
  suspense          bigint NOT NULL,
  adjustments       bigint NOT NULL,
  available_after   bigint NOT NULL CHECK (available_after >= 0),
  reserved_after    bigint NOT NULL CHECK (reserved_after >= 0),
  held_after        bigint NOT NULL CHECK (held_after >= 0),
  receivable_after  bigint NOT NULL CHECK (receivable_after >= 0),
  effective_at      timestamptz NOT NULL,
  posted_at         timestamptz NOT NULL,
  -- The random token of the command that posted it. After a lost answer it shows whether this command was committed, or another one.
  command           uuid NOT NULL,
  version           smallint NOT NULL,
  previous          bytea NOT NULL,
  hash              bytea NOT NULL,
  -- Of the clearing line; null where there is none.
  connection        text,
  -- One Pix, one booking: the end-to-end id of the Pix that a journal books as received. Null: it books none.
  pix               text,
  PRIMARY KEY (account_id, chain_id, seq),
  UNIQUE (account_id, subject, event, reference),
  CHECK (available + reserved + held + receivable + clearing + fee_revenue + provider_cost + suspense + adjustments = 0),
  CHECK ((available <> 0)::int + (reserved <> 0)::int + (held <> 0)::int + (receivable <> 0)::int + (clearing <> 0)::int + (fee_revenue <> 0)::int + (provider_cost <> 0)::int + (suspense <> 0)::int + (adjustments <> 0)::int >= 2),
  CONSTRAINT journal_connection CHECK ((connection IS NULL) = (clearing = 0))
);
-- A Pix that a connection received is booked under one payment. This index also finds under the lock which payment that is.
CREATE UNIQUE INDEX journal_pix ON journal (connection, pix) WHERE pix IS NOT NULL;
GRANT SELECT, INSERT ON journal TO vintem_app;

-- Amounts of an operation's balance that an operator holds. How much of them is captured stands in the balance row alone
-- (held, hold_wanted), over all holds together: it changes with every credit, and those lock nothing but that row.
CREATE TABLE hold (
  account_id    uuid NOT NULL,
  -- The token of the command that placed it.
  id            uuid NOT NULL,
  operation_id  uuid NOT NULL,
  wanted_cents  bigint NOT NULL CHECK (wanted_cents > 0),
  reason        text NOT NULL,
  placed_by     text NOT NULL,
  placed_at     timestamptz NOT NULL,
  released_at   timestamptz,
  -- A person's decision about a hold is a state: disputes whose hold was released want nothing until another dispute of the Pix holds.
  released_by   text,
  PRIMARY KEY (account_id, id)
);
CREATE INDEX hold_open ON hold (account_id, operation_id, placed_at, id) WHERE released_at IS NULL;
CREATE INDEX hold_by_id ON hold (id);
GRANT SELECT, INSERT, UPDATE ON hold TO vintem_app;

-- A chain's sums at a seq: written only by a pass that re-summed the chain from the checkpoint before.
CREATE TABLE checkpoint (
  account_id     uuid NOT NULL,
  chain_id       uuid NOT NULL,
  seq            bigint NOT NULL CHECK (seq > 0),
  head           bytea NOT NULL,
  available      bigint NOT NULL,
  reserved       bigint NOT NULL,
  held           bigint NOT NULL,
  receivable     bigint NOT NULL,
  clearing       bigint NOT NULL,
  fee_revenue    bigint NOT NULL,
  provider_cost  bigint NOT NULL,
  suspense       bigint NOT NULL,
  adjustments    bigint NOT NULL,
  created_at     timestamptz NOT NULL,
  PRIMARY KEY (account_id, chain_id, seq)
);
GRANT SELECT, INSERT ON checkpoint TO vintem_app;

-- --------------------------------------------------------------------------------------------------------------- payments

-- Charges (`deposit`) and transfers, with the state that the merchant sees.
CREATE TABLE payment (
  account_id          uuid NOT NULL,
  -- A function of account and request key: this key is at the same time the uniqueness of the request key.
  id                  uuid NOT NULL,
  operation_id        uuid NOT NULL,
  kind                text NOT NULL,
  status              text NOT NULL,
  amount_cents        bigint NOT NULL CHECK (amount_cents > 0),
  fee_cents           bigint NOT NULL CHECK (fee_cents >= 0),
  request_key         uuid NOT NULL,
  fingerprint         bytea NOT NULL,
  description         text NOT NULL,
  payer_name          text,
  pix_key             bytea,
  pix_key_type        text,
  created_at          timestamptz NOT NULL,
  updated_at          timestamptz NOT NULL CHECK (updated_at >= created_at),
  settled_at          timestamptz,
  paid_at             timestamptz,
  expires_at          timestamptz,
  copy_paste          text,
  end_to_end          text,
  notice              text,
  reason_code         text,
  provider_fee_cents  bigint CHECK (provider_fee_cents >= 0),
  net_amount_cents    bigint CHECK (net_amount_cents >= 0),
  -- The amount that the provider is known to have returned of a completed transfer.
  returned_cents      bigint NOT NULL DEFAULT 0 CHECK (returned_cents >= 0),
  -- Every state entered: [{status, at, cause}].
  history             jsonb NOT NULL,
  -- The random token of the command that created it.
  command             uuid NOT NULL,
  -- The amount of a charge that its refunds have given back.
  refunded_cents      bigint NOT NULL DEFAULT 0 CHECK (refunded_cents >= 0),
  -- Pairs that the merchant gives a charge or a transfer, kept and shown as they are: {"name": "value"}. Null: none.
  metadata            jsonb CHECK (jsonb_typeof(metadata) = 'object'),
  -- The connection that carries it; null counts as the first one of its account. It changes only before anything was sent.
  connection          text,
  -- Who received a transfer, as its provider says it: {"name", "taxId", "bank"}; the last two may be null. Null: it has not said it.
  receiver            jsonb,
  -- News has the same end in every order. A dispute that is read before its Pix is posted holds with the posting: the payment's row, which the
  -- posting reads anyway, says that there is one.
  disputed            boolean NOT NULL DEFAULT false,
  PRIMARY KEY (account_id, id),
  CHECK ((kind = 'deposit' AND status IN ('unknown', 'pending', 'paid', 'failed', 'expired') AND payer_name IS NOT NULL)
    OR (kind = 'transfer' AND status IN ('draft', 'unknown', 'pending', 'completed', 'cancelled') AND fee_cents < amount_cents AND pix_key IS NOT NULL AND pix_key_type IS NOT NULL)),
  CHECK ((status IN ('paid', 'completed')) = (settled_at IS NOT NULL)),
  CHECK (returned_cents = 0 OR (status = 'completed' AND returned_cents <= net_amount_cents))
) WITH (fillfactor = 80);
CREATE INDEX payment_list ON payment (account_id, operation_id, created_at, id);
CREATE INDEX payment_end_to_end ON payment (account_id, end_to_end) WHERE end_to_end IS NOT NULL;
-- Payments that block the deletion of an operation, and that the panel lists as unconfirmed. Kept on payments, since a row of intent changes with
-- every query and would write one more index each time.
CREATE INDEX payment_unfinished ON payment (account_id, operation_id, status, created_at, id) WHERE status IN ('draft', 'unknown', 'pending');
-- A page of charges alone, or of transfers alone, is found without reading what is of the other kind.
CREATE INDEX payment_of_kind ON payment (account_id, operation_id, kind, created_at, id);
GRANT SELECT, INSERT, UPDATE ON payment TO vintem_app;

-- A transfer that waits for the code that was mailed. Goes when it is confirmed, cancelled or too old.
CREATE TABLE draft (
  account_id       uuid NOT NULL,
  payment_id       uuid NOT NULL,
  operation_id     uuid NOT NULL,
  -- Where the code goes. Sealed with the payment's id as context.
  email            bytea NOT NULL,
  -- scrypt over the payment's id and the code.
  code_salt        bytea NOT NULL,
  code_hash        bytea NOT NULL,
  code_expires_at  timestamptz NOT NULL,
  tries_left       smallint NOT NULL CHECK (tries_left > 0),
  sends_left       smallint NOT NULL CHECK (sends_left >= 0),
  expires_at       timestamptz NOT NULL,
  PRIMARY KEY (account_id, payment_id)
);
CREATE INDEX draft_expires ON draft (expires_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON draft TO vintem_app;

-- A payment that is still to be sent or followed: goes with the terminal state. `ready` has certainly never been sent.
CREATE TABLE intent (
  account_id        uuid NOT NULL,
  payment_id        uuid NOT NULL,
  operation_id      uuid NOT NULL,
  connection        text NOT NULL,
  kind              text NOT NULL CHECK (kind IN ('deposit', 'transfer', 'refund')),
  -- 0: something to send, a lease that may have ended. Then queries: 1 unknown transfer, 2 pending transfer, 4 unknown
  -- charge, 5 pending charge.
  priority          smallint NOT NULL,
  state             text NOT NULL CHECK (state IN ('ready', 'sending', 'awaiting')),
  -- Changes with every owner: an older owner's outcome is not applied.
  fence             uuid NOT NULL,
  -- Attempts that were started and may have reached the provider.
  attempt           integer NOT NULL CHECK (attempt >= 0),
  lease_until       timestamptz,
  -- When this row next wants something: a send, a takeover, a query.
  due_at            timestamptz NOT NULL,
  -- The last news of the payment: what the schedule of queries counts from.
  news_at           timestamptz NOT NULL,
  -- When the last attempt ended or its lease ran out: only later queries may count as "not found".
  attempt_ended_at  timestamptz,
  -- Failed calls in a row.
  failures          integer NOT NULL,
  -- Queries since the last attempt that did not find it, and when the last of them was made.
  absences          integer NOT NULL,
  absent_at         timestamptz,
  -- Since when the provider has answered without ending the payment; a day of it opens an incident.
  absent_since      timestamptz,
  -- The provider named the id a duplicate: it knows it, so it is never sent again.
  known             boolean NOT NULL,
  -- A repeat was refused.
  refused           boolean NOT NULL,
  created_at        timestamptz NOT NULL,
  -- The last query that the provider answered and that left the payment unfinished.
  answered_at       timestamptz,
  -- The provider's own name of a payout, where its queries need one.
  provider_ref      text,
  -- The account at the provider that the first attempt went to (`connection.identity`); null: nothing was sent.
  identity          text,
  PRIMARY KEY (account_id, payment_id),
  CHECK ((state = 'sending') = (lease_until IS NOT NULL)),
  CHECK (state <> 'ready' OR attempt = 0),
  CHECK (state = 'ready' OR attempt > 0)
) WITH (fillfactor = 50);
CREATE INDEX intent_due ON intent (connection, priority, due_at);
-- Where a provider limits parallel sends, what it does not limit is found without reading all transfers that wait for a slot.
CREATE INDEX intent_due_unlimited ON intent (connection, due_at) WHERE priority = 0 AND kind IN ('deposit', 'refund');
-- Sends whose owner is gone are found without reading what waits for a slot: taking one over needs none.
CREATE INDEX intent_sending_transfer ON intent (connection, due_at) WHERE state = 'sending' AND kind = 'transfer';
GRANT SELECT, INSERT, UPDATE, DELETE ON intent TO vintem_app;

-- Expired charges that are queried once more, a day later: their provider may have shown a payment late.
CREATE TABLE late_query (
  account_id  uuid NOT NULL,
  payment_id  uuid NOT NULL,
  connection  text NOT NULL,
  -- Of the charge: one listing by creation answers for many.
  created_at  timestamptz NOT NULL,
  -- When it is queried; a lease as well.
  due_at      timestamptz NOT NULL,
  tries       integer NOT NULL,
  PRIMARY KEY (account_id, payment_id)
);
CREATE INDEX late_query_due ON late_query (connection, due_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON late_query TO vintem_app;

-- The provider's words to an attempt that it did not accept: its name of the error, and its text with ids, keys and documents masked.
CREATE TABLE provider_word (
  account_id  uuid NOT NULL,
  -- Of a refund its own id.
  payment_id  uuid NOT NULL,
  -- Of the attempt.
  fence       uuid NOT NULL,
  at          timestamptz NOT NULL,
  name        text NOT NULL,
  message     text,
  PRIMARY KEY (account_id, payment_id, fence)
);
CREATE INDEX provider_word_at ON provider_word (at);
GRANT SELECT, INSERT, DELETE ON provider_word TO vintem_app;

-- Transfers of which `transfer.unknown` was sent: once for each payment.
CREATE TABLE unknown_told (
  account_id   uuid NOT NULL,
  payment_id   uuid NOT NULL,
  told_at      timestamptz NOT NULL,
  -- Mails about transfers that stay unknown and about incidents: due until one was sent.
  mail_due_at  timestamptz,
  PRIMARY KEY (account_id, payment_id)
);
CREATE INDEX unknown_told_mail ON unknown_told (mail_due_at) WHERE mail_due_at IS NOT NULL;
GRANT SELECT, INSERT, UPDATE, DELETE ON unknown_told TO vintem_app;

-- Received Pix that are given back to their payers, in whole or in part.
CREATE TABLE refund (
  account_id      uuid NOT NULL,
  -- A function of account and request key, as a payment's. Without hyphens it is the return's `id` at the provider.
  id              uuid NOT NULL,
  operation_id    uuid NOT NULL,
  -- The charge.
  payment_id      uuid NOT NULL,
  -- The received Pix that is returned.
  end_to_end      text NOT NULL,
  reason          text NOT NULL CHECK (reason IN ('requested', 'odd_money')),
  status          text NOT NULL CHECK (status IN ('unknown', 'pending', 'completed', 'failed')),
  amount_cents    bigint NOT NULL CHECK (amount_cents > 0),
  description     text NOT NULL,
  request_key     uuid NOT NULL,
  fingerprint     bytea NOT NULL,
  -- `rtrId` of API Pix, once the provider has named it.
  rtr_id          text,
  reason_code     text,
  created_at      timestamptz NOT NULL,
  updated_at      timestamptz NOT NULL CHECK (updated_at >= created_at),
  settled_at      timestamptz,
  -- Every state entered: [{status, at, cause}].
  history         jsonb NOT NULL,
  -- The random token of the command that created it.
  command         uuid NOT NULL,
  -- The part of the charge's fee that comes back with the refund's completion, decided with its creation; null: the fee is kept.
  fee_back_cents  bigint CONSTRAINT refund_fee_back CHECK (fee_back_cents >= 0),
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, request_key),
  CHECK ((status = 'completed') = (settled_at IS NOT NULL))
) WITH (fillfactor = 80);
CREATE INDEX refund_payment ON refund (account_id, payment_id, created_at, id);
-- A Pix in suspense goes back as a whole, so one of its returns at most has not failed.
CREATE UNIQUE INDEX refund_return ON refund (account_id, payment_id, end_to_end) WHERE reason = 'odd_money' AND status <> 'failed';
CREATE INDEX refund_rtr_id ON refund (rtr_id);
GRANT SELECT, INSERT, UPDATE ON refund TO vintem_app;

-- Returns that were posted or that opened an incident, under every name that the provider has given them.
CREATE TABLE known_return (
  account_id    uuid NOT NULL REFERENCES account,
  -- The payment's id. For a Pix that matches no payment of ours, its end-to-end id or else the provider's id of it.
  payment       text NOT NULL,
  -- As in the journal, where it was posted.
  reference     text NOT NULL,
  -- The end-to-end id of the received Pix that was returned; empty for a payout, which is one Pix. Null: a person posted it.
  pix           text,
  -- `id` of API Pix: chosen by who returns it, unique within one Pix only.
  return_id     text,
  -- `rtrId` of API Pix: unique.
  rtr_id        text,
  amount_cents  bigint NOT NULL CHECK (amount_cents > 0),
  at            timestamptz NOT NULL,
  -- False: it opened an incident, and no journal is about it yet.
  posted        boolean NOT NULL,
  PRIMARY KEY (account_id, payment, reference)
);
-- A list of returns that does not name their Pix is compared with the books by `rtrId` alone.
CREATE INDEX known_return_rtr_id ON known_return (rtr_id);
GRANT SELECT, INSERT, UPDATE ON known_return TO vintem_app;

-- Disputes (MED) of Pix that charges received, as the provider reports them.
CREATE TABLE dispute (
  account_id     uuid NOT NULL REFERENCES account,
  -- UUIDv7: in the order in which they became known.
  id             uuid NOT NULL,
  payment_id     uuid NOT NULL,
  operation_id   uuid NOT NULL,
  connection     text NOT NULL,
  -- The provider's id of it: one dispute for each.
  provider_id    text NOT NULL,
  end_to_end     text NOT NULL,
  amount_cents   bigint NOT NULL CHECK (amount_cents > 0),
  status         text NOT NULL CHECK (status IN ('open', 'defending', 'accepted', 'rejected', 'cancelled')),
  -- The provider's word for why.
  reason         text,
  opened_at      timestamptz NOT NULL,
  -- The provider's own; never computed.
  deadline_at    timestamptz,
  ended_at       timestamptz,
  -- The part of the disputed amount that the provider has taken.
  debited_cents  bigint NOT NULL CHECK (debited_cents >= 0 AND debited_cents <= amount_cents),
  -- The hold of this Pix: all of its disputes share one, so that they never hold more than the Pix. Null: nothing was to be held.
  hold_id        uuid,
  created_at     timestamptz NOT NULL,
  updated_at     timestamptz NOT NULL,
  mail_due_at    timestamptz,
  released_at    timestamptz,
  PRIMARY KEY (account_id, id),
  UNIQUE (connection, provider_id)
);
CREATE INDEX dispute_payment ON dispute (account_id, payment_id);
CREATE INDEX dispute_operation ON dispute (account_id, operation_id, id);
CREATE INDEX dispute_mail ON dispute (mail_due_at) WHERE mail_due_at IS NOT NULL;
-- The reading begins with the oldest that the provider has not ended.
CREATE INDEX dispute_unended ON dispute (connection, opened_at) WHERE ended_at IS NULL;
GRANT SELECT, INSERT, UPDATE ON dispute TO vintem_app;

-- Merchants' defences of disputes: committed before anything of it is sent, one for each dispute.
CREATE TABLE dispute_defence (
  account_id    uuid NOT NULL,
  dispute_id    uuid NOT NULL,
  operation_id  uuid NOT NULL,
  connection    text NOT NULL,
  -- pending: not sent yet; unknown: sent, and the provider's answer is unclear; sent: the provider has it; failed: it certainly has not.
  status        text NOT NULL CHECK (status IN ('pending', 'unknown', 'sent', 'failed')),
  reason        text CHECK (reason IN ('deadline_over', 'already_defended', 'provider_refused', 'dispute_ended')),
  -- The text, sealed, with the dispute's id as context; null once the payer is anonymised.
  body          bytea,
  -- Those that were started: counted before a byte goes out.
  attempts      integer NOT NULL CHECK (attempts >= 0),
  -- Of the attempt that is under way.
  fence         uuid,
  -- When it is looked at next; a lease as well. Null: nothing more is done.
  due_at        timestamptz,
  created_at    timestamptz NOT NULL,
  sent_at       timestamptz,
  updated_at    timestamptz NOT NULL,
  -- Those that go out with a defence. A defence of files alone has no text: its body is null from the beginning.
  file_ids      uuid[] NOT NULL DEFAULT '{}',
  -- When the people of the account get the mail that a defence has failed; a lease as well. Null: it was sent, or none is due.
  mail_due_at   timestamptz,
  identity      text,
  PRIMARY KEY (account_id, dispute_id),
  FOREIGN KEY (account_id, dispute_id) REFERENCES dispute (account_id, id),
  CHECK ((status = 'failed') = (reason IS NOT NULL)),
  CHECK ((status = 'sent') = (sent_at IS NOT NULL)),
  -- Nothing is unclear and nothing has arrived without an attempt.
  CHECK (status IN ('pending', 'failed') OR attempts > 0),
  CHECK (status <> 'pending' OR (attempts = 0 AND due_at IS NOT NULL))
);
CREATE INDEX dispute_defence_due ON dispute_defence (connection, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX dispute_defence_mail ON dispute_defence (mail_due_at) WHERE mail_due_at IS NOT NULL;
GRANT SELECT, INSERT, UPDATE ON dispute_defence TO vintem_app;

-- Merchants' files of evidence for the defence of a dispute.
CREATE TABLE dispute_file (
  account_id    uuid NOT NULL,
  id            uuid NOT NULL,
  dispute_id    uuid NOT NULL,
  operation_id  uuid NOT NULL,
  -- As the merchant named it; empty once the payer is anonymised.
  name          text NOT NULL,
  type          text NOT NULL CHECK (type IN ('application/pdf', 'image/png', 'image/jpeg')),
  size_bytes    integer NOT NULL CHECK (size_bytes BETWEEN 1 AND 10485760),
  -- Of the contents.
  sha256        bytea NOT NULL CHECK (octet_length(sha256) = 32),
  -- The contents, sealed, with the file's id as context; null once their time is over or the payer is anonymised.
  body          bytea,
  created_at    timestamptz NOT NULL,
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, dispute_id, sha256),
  FOREIGN KEY (account_id, dispute_id) REFERENCES dispute (account_id, id)
);
-- Sealed contents cannot be compressed.
ALTER TABLE dispute_file ALTER COLUMN body SET STORAGE EXTERNAL;
-- The files of an account, and the oldest of them: an id begins with its time.
CREATE INDEX dispute_file_kept ON dispute_file (account_id) INCLUDE (size_bytes) WHERE body IS NOT NULL;
CREATE INDEX dispute_file_oldest ON dispute_file (id) WHERE body IS NOT NULL;
GRANT SELECT, INSERT, UPDATE, DELETE ON dispute_file TO vintem_app;

-- Decisions for a person: the finding, its money, and its resolution.
CREATE TABLE incident (
  account_id    uuid NOT NULL,
  id            uuid NOT NULL,
  kind          text NOT NULL,
  payment_id    uuid,
  operation_id  uuid,
  amount_cents  bigint NOT NULL CHECK (amount_cents >= 0),
  -- One incident per event, however often it is reported.
  reference     text NOT NULL,
  -- Freezes the operation's withdrawals while it is open.
  freezes       boolean NOT NULL,
  detail        jsonb NOT NULL,
  state         text NOT NULL CHECK (state IN ('open', 'resolved')),
  opened_at     timestamptz NOT NULL,
  resolved_at   timestamptz,
  resolution    jsonb,
  mail_due_at   timestamptz,
  -- A person keeps its money: the account's rule leaves the incident alone.
  kept_at       timestamptz,
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, reference)
);
CREATE INDEX incident_payment ON incident (account_id, payment_id) WHERE state = 'open';
CREATE INDEX incident_by_id ON incident (id);
CREATE INDEX incident_mail ON incident (mail_due_at) WHERE mail_due_at IS NOT NULL;
-- The check of unfinished payments reads resolved incidents as well.
CREATE INDEX incident_of_payment ON incident (account_id, payment_id);
-- An index of its own on (account_id, opened_at) would be taken for the open incidents of one operation as well.
CREATE INDEX incident_open ON incident (account_id, operation_id, opened_at) WHERE state = 'open';
-- The operators' list.
CREATE INDEX incident_opened ON incident (opened_at, id);
CREATE INDEX incident_divergence ON incident (account_id) WHERE state = 'open' AND kind = 'divergence';
CREATE INDEX incident_returnable ON incident (opened_at) WHERE state = 'open' AND kept_at IS NULL AND kind IN ('amount_mismatch', 'second_payment', 'failed_charge_paid', 'deleted_operation');
-- The few incidents about unread items are looked for every ten seconds.
CREATE INDEX incident_unread ON incident (account_id) WHERE state = 'open' AND kind = 'unread';
GRANT SELECT, INSERT, UPDATE ON incident TO vintem_app;

-- -------------------------------------------------------------------------------------------------------- the daily close

-- Of an operation, or of an account's own chain (under the account's id).
CREATE TABLE day_close (
  account_id     uuid NOT NULL,
  chain_id       uuid NOT NULL,
  day            date NOT NULL,
  -- The close before it; null: it is the first one of this chain.
  previous_day   date,
  -- The journals of the day are those after `opening_seq` up to `closing_seq`. What is posted late is in the day after.
  opening_seq    bigint NOT NULL CHECK (opening_seq >= 0),
  closing_seq    bigint NOT NULL,
  -- The hash of the journal `closing_seq`.
  head           bytea NOT NULL,
  -- Balances are what is available less what is owed. What came back of the same kind is taken off: a cancelled transfer, a failed refund, a released hold.
  opening_cents  bigint NOT NULL,
  in_cents       bigint NOT NULL,
  out_cents      bigint NOT NULL,
  fee_cents      bigint NOT NULL,
  refund_cents   bigint NOT NULL,
  hold_cents     bigint NOT NULL,
  closing_cents  bigint NOT NULL,
  -- The columns at the end of the day.
  available      bigint NOT NULL CHECK (available >= 0),
  reserved       bigint NOT NULL CHECK (reserved >= 0),
  held           bigint NOT NULL CHECK (held >= 0),
  receivable     bigint NOT NULL CHECK (receivable >= 0),
  closed_at      timestamptz NOT NULL,
  command        uuid NOT NULL,
  PRIMARY KEY (account_id, chain_id, day),
  -- One row after the other: none between two others, none before the first.
  CONSTRAINT day_close_next UNIQUE NULLS NOT DISTINCT (account_id, chain_id, previous_day),
  CONSTRAINT day_close_previous FOREIGN KEY (account_id, chain_id, previous_day) REFERENCES day_close,
  CONSTRAINT day_close_order CHECK (previous_day < day),
  CONSTRAINT day_close_seq CHECK (closing_seq >= opening_seq),
  CONSTRAINT day_close_sum CHECK (opening_cents + in_cents - out_cents - fee_cents - refund_cents - hold_cents = closing_cents),
  CONSTRAINT day_close_columns CHECK (closing_cents = available - receivable)
);
GRANT SELECT, INSERT ON day_close TO vintem_app;

-- The movements of a chain's day at a connection; only where something moved.
CREATE TABLE day_close_money (
  account_id     uuid NOT NULL,
  chain_id       uuid NOT NULL,
  day            date NOT NULL,
  connection     text NOT NULL,
  -- From before the first close of this chain; 0 in every later one.
  opening_cents  bigint NOT NULL,
  in_cents       bigint NOT NULL CHECK (in_cents >= 0),
  out_cents      bigint NOT NULL CHECK (out_cents >= 0),
  refund_cents   bigint NOT NULL CHECK (refund_cents >= 0),
  -- Earned; it stays in the provider's account.
  fee_cents      bigint NOT NULL,
  -- Of a cell's share of a day: the company's own money, and what the provider charged (below zero: it gave back more).
  cost_cents     bigint NOT NULL DEFAULT 0,
  own_in_cents   bigint NOT NULL DEFAULT 0 CHECK (own_in_cents >= 0),
  own_out_cents  bigint NOT NULL DEFAULT 0 CHECK (own_out_cents >= 0),
  PRIMARY KEY (account_id, chain_id, day, connection),
  FOREIGN KEY (account_id, chain_id, day) REFERENCES day_close
);
CREATE INDEX day_close_money_connection ON day_close_money (connection, day);
GRANT SELECT, INSERT ON day_close_money TO vintem_app;

-- Of a connection: the books beside the provider's account.
CREATE TABLE connection_close (
  connection             text NOT NULL,
  day                    date NOT NULL,
  previous_day           date,
  opening_cents          bigint NOT NULL,
  in_cents               bigint NOT NULL CHECK (in_cents >= 0),
  out_cents              bigint NOT NULL CHECK (out_cents >= 0),
  refund_cents           bigint NOT NULL CHECK (refund_cents >= 0),
  fee_cents              bigint NOT NULL,
  -- Of the accounts that are bound to it, at the end of the day.
  held_cents             bigint NOT NULL CHECK (held_cents >= 0),
  -- The expected balance of the provider's account at the end of the day.
  closing_cents          bigint NOT NULL,
  -- The movements since, up to the moment of the comparison, and the part of open transfers that had left the provider's account already.
  since_cents            bigint,
  in_transit_cents       bigint,
  -- Null: the provider offers no balance, or it could not be compared.
  provider_cents         bigint,
  -- The provider's balance less the books'; a difference that the day before had already is no new one.
  difference_cents       bigint,
  compared_at            timestamptz,
  -- Of a new difference.
  incident_id            uuid,
  closed_at              timestamptz NOT NULL,
  -- Over the row, the heads of the chains that moved, and the hash before.
  head                   bytea NOT NULL,
  -- The provider's costs (below zero: it gave back more), and the company's own money.
  cost_cents             bigint,
  own_in_cents           bigint CHECK (own_in_cents >= 0),
  own_out_cents          bigint CHECK (own_out_cents >= 0),
  -- In the provider's account and not to be paid out; null: the provider does not say it.
  blocked_cents          bigint CHECK (blocked_cents >= 0),
  -- Of what is in transit: left by the provider's word, and under way by its word. What it knows nothing of has not left.
  transit_settled_cents  bigint CHECK (transit_settled_cents >= 0),
  transit_pending_cents  bigint CHECK (transit_pending_cents >= 0),
  transit_unsent_cents   bigint CHECK (transit_unsent_cents >= 0),
  PRIMARY KEY (connection, day),
  CONSTRAINT connection_close_next UNIQUE NULLS NOT DISTINCT (connection, previous_day),
  CONSTRAINT connection_close_previous FOREIGN KEY (connection, previous_day) REFERENCES connection_close,
  CONSTRAINT connection_close_order CHECK (previous_day < day),
  CONSTRAINT connection_close_sum CHECK (opening_cents + in_cents - out_cents - refund_cents = closing_cents),
  CONSTRAINT connection_close_compared CHECK ((provider_cents IS NULL) = (difference_cents IS NULL)
    AND (provider_cents IS NULL) = (since_cents IS NULL) AND (provider_cents IS NULL) = (in_transit_cents IS NULL) AND (provider_cents IS NULL) = (compared_at IS NULL)),
  CONSTRAINT connection_close_difference CHECK (difference_cents = provider_cents + in_transit_cents - closing_cents - since_cents),
  CONSTRAINT connection_close_costs CHECK ((cost_cents IS NULL) = (own_in_cents IS NULL)
    AND (cost_cents IS NULL) = (own_out_cents IS NULL))
);
GRANT SELECT, INSERT ON connection_close TO vintem_app;

-- The movements of each cell at a connection on a closed day, where there is more than one cell: each cell proves its own part.
CREATE TABLE connection_close_cell (
  connection     text NOT NULL,
  day            date NOT NULL,
  cell           text NOT NULL REFERENCES cell,
  opening_cents  bigint NOT NULL,
  in_cents       bigint NOT NULL CHECK (in_cents >= 0),
  out_cents      bigint NOT NULL CHECK (out_cents >= 0),
  refund_cents   bigint NOT NULL CHECK (refund_cents >= 0),
  fee_cents      bigint NOT NULL,
  -- Over the heads of the cell's chains that moved, SHA-256 in hex.
  chains         text NOT NULL,
  -- Of what came in and what left: the company's own money, and what the provider charged (below zero: it gave back more).
  cost_cents     bigint NOT NULL DEFAULT 0,
  own_in_cents   bigint NOT NULL DEFAULT 0 CHECK (own_in_cents >= 0),
  own_out_cents  bigint NOT NULL DEFAULT 0 CHECK (own_out_cents >= 0),
  PRIMARY KEY (connection, day, cell),
  FOREIGN KEY (connection, day) REFERENCES connection_close
);
GRANT SELECT, INSERT ON connection_close_cell TO vintem_app;

-- ---------------------------------------------------------------------------------------------------- events and webhooks

-- Events: their payloads as they are delivered, byte for byte.
CREATE TABLE event (
  account_id    uuid NOT NULL,
  id            uuid NOT NULL,
  type          text NOT NULL,
  operation_id  uuid NOT NULL,
  payment_id    uuid,
  -- The exact bytes of the payload, frozen from the committed state.
  body          text NOT NULL,
  created_at    timestamptz NOT NULL,
  -- Set on a test event: it is for this endpoint alone, and neither in the log nor in the stream.
  endpoint_id   uuid,
  PRIMARY KEY (account_id, id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON event TO vintem_app;

-- Events that are committed and have no place in the log yet. Written with the event, deleted by the publisher. A table
-- of its own, so that it stays small: a queue inside a table of millions costs a vacuum of all of its indexes.
CREATE TABLE event_fresh (
  account_id    uuid NOT NULL,
  event_id      uuid NOT NULL,
  type          text NOT NULL,
  operation_id  uuid NOT NULL,
  payment_id    uuid,
  created_at    timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_analyze_threshold = 100000);
-- Tables without a primary key: what a logical copy of a cell (Citus moves one so, while it is written) takes for the identity of a row. It
-- costs nothing where `wal_level` is below `logical`.
ALTER TABLE event_fresh REPLICA IDENTITY FULL;
-- Per payment `created_at` strictly increases, whatever the clocks of several processes say.
CREATE INDEX event_fresh_order ON event_fresh (created_at, event_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON event_fresh TO vintem_app;

-- One publisher works at a time: the process that holds this row. One row for each shard.
CREATE TABLE publisher (
  shard  smallint PRIMARY KEY
);
INSERT INTO publisher VALUES (0);
GRANT SELECT, INSERT, UPDATE ON publisher TO vintem_app;

-- The last place in the log of each account.
CREATE TABLE event_sequence (
  account_id  uuid PRIMARY KEY,
  last_seq    bigint NOT NULL
) WITH (fillfactor = 50);
GRANT SELECT, INSERT, UPDATE, DELETE ON event_sequence TO vintem_app;

-- Without gaps per account, given after the commit: what a reader may follow.
CREATE TABLE event_log (
  account_id  uuid NOT NULL,
  seq         bigint NOT NULL CHECK (seq > 0),
  event_id    uuid NOT NULL,
  PRIMARY KEY (account_id, seq)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON event_log TO vintem_app;

-- Addresses of merchants that events are delivered to.
CREATE TABLE webhook_endpoint (
  account_id             uuid NOT NULL REFERENCES account,
  id                     uuid NOT NULL,
  url                    text NOT NULL CHECK (char_length(url) <= 2048),
  -- `{*}`: every type, future ones included.
  events                 text[] NOT NULL CHECK (cardinality(events) > 0),
  description            text CHECK (char_length(description) <= 200),
  -- Null: every operation, future ones included.
  operation_ids          uuid[],
  schema_version         integer NOT NULL,
  enabled                boolean NOT NULL,
  disabled_reason        text,
  disabled_at            timestamptz,
  -- Sealed with the endpoint's id as context.
  secret                 bytea NOT NULL,
  secret_hint            text NOT NULL,
  previous_secret        bytea,
  previous_secret_until  timestamptz,
  -- Since the last success: attempts that failed, deliveries that were given up, and when the first attempt failed.
  failed_attempts        integer NOT NULL DEFAULT 0,
  failed_deliveries      integer NOT NULL DEFAULT 0,
  failing_since          timestamptz,
  -- The last mail about it: 0 none, 1 failing, 2 for a day, 3 for three days, 4 disabled.
  told                   smallint NOT NULL DEFAULT 0,
  tell_after             timestamptz,
  created_at             timestamptz NOT NULL,
  updated_at             timestamptz NOT NULL,
  deleted_at             timestamptz,
  PRIMARY KEY (account_id, id),
  CHECK (enabled = (disabled_at IS NULL)),
  CHECK (enabled = (disabled_reason IS NULL)),
  CHECK ((previous_secret IS NULL) = (previous_secret_until IS NULL))
) WITH (fillfactor = 70);
CREATE INDEX webhook_endpoint_unwell ON webhook_endpoint (failing_since) WHERE failing_since IS NOT NULL;
GRANT SELECT, INSERT, UPDATE ON webhook_endpoint TO vintem_app;

-- Changes of an address, for their limit per hour.
CREATE TABLE webhook_url_change (
  account_id  uuid NOT NULL,
  changed_at  timestamptz NOT NULL
);
ALTER TABLE webhook_url_change REPLICA IDENTITY FULL;
CREATE INDEX webhook_url_change_account ON webhook_url_change (account_id, changed_at);
-- Changes of addresses that count no more are removed in steps by a worker, not by the call that counts them.
CREATE INDEX webhook_url_change_at ON webhook_url_change (changed_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_url_change TO vintem_app;

-- The queue of an endpoint. Only the process that holds its lease delivers for the endpoint.
CREATE TABLE webhook_lane (
  account_id   uuid NOT NULL,
  endpoint_id  uuid NOT NULL,
  -- When it next wants something; null: nothing is waiting.
  due_at       timestamptz,
  -- Counts what arrived: a lane is only put to rest when nothing has since.
  wakes        bigint NOT NULL DEFAULT 0,
  owner        uuid,
  lease_until  timestamptz,
  PRIMARY KEY (account_id, endpoint_id)
) WITH (fillfactor = 50);
CREATE INDEX webhook_lane_due ON webhook_lane (due_at) WHERE due_at IS NOT NULL;
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_lane TO vintem_app;

-- One event for one endpoint.
CREATE TABLE webhook_delivery (
  account_id    uuid NOT NULL,
  endpoint_id   uuid NOT NULL,
  event_id      uuid NOT NULL,
  payment_id    uuid,
  -- The event's place in the log; null for a test.
  seq           bigint,
  status        text NOT NULL CHECK (status IN ('pending', 'delivered', 'failed', 'skipped')),
  -- Null while pending: the first attempt, in the order of the log.
  due_at        timestamptz,
  -- Attempts that were made, and how many more are made by themselves.
  made          integer NOT NULL DEFAULT 0,
  tries_left    integer NOT NULL,
  -- [{n, at, statusCode, error, durationMs, responseSnippet}], the last 50.
  attempts      jsonb NOT NULL DEFAULT '[]',
  delivered_at  timestamptz,
  created_at    timestamptz NOT NULL,
  PRIMARY KEY (account_id, endpoint_id, event_id),
  CHECK (status = 'pending' OR due_at IS NULL),
  CHECK (due_at IS NOT NULL OR seq IS NOT NULL OR status <> 'pending')
) WITH (fillfactor = 80);
CREATE INDEX webhook_delivery_first ON webhook_delivery (account_id, endpoint_id, seq) WHERE status = 'pending' AND due_at IS NULL;
CREATE INDEX webhook_delivery_due ON webhook_delivery (account_id, endpoint_id, due_at) WHERE status = 'pending' AND due_at IS NOT NULL;
CREATE INDEX webhook_delivery_left ON webhook_delivery (account_id, endpoint_id, event_id) WHERE status IN ('failed', 'skipped');
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_delivery TO vintem_app;

-- Requests of merchants' programs with their answers: thirty days, without personal data and secrets.
CREATE TABLE request_log (
  account_id         uuid NOT NULL REFERENCES account,
  -- Of the moment of the answer: ids are UUIDv7.
  id                 uuid NOT NULL,
  at                 timestamptz NOT NULL,
  method             text NOT NULL,
  -- The route's pattern, not the address that was asked for.
  route              text NOT NULL,
  status             smallint NOT NULL,
  error_code         text,
  key_id             text NOT NULL,
  request_id         text NOT NULL,
  client_request_id  text,
  duration_ms        integer NOT NULL,
  ip                 text NOT NULL,
  operation_id       uuid,
  payment_id         uuid,
  body               jsonb,
  -- Requests of the same second that were answered and not kept.
  left_out           integer NOT NULL,
  PRIMARY KEY (account_id, id)
);
CREATE INDEX request_log_payment ON request_log (account_id, payment_id, id) WHERE payment_id IS NOT NULL;
CREATE INDEX request_log_at ON request_log (at);
GRANT SELECT, INSERT, DELETE ON request_log TO vintem_app;

-- ------------------------------------------------------------------------------------------------ people and their access

-- People of the panel. panel_user, panel_session, panel_credential, panel_verification, panel_two_factor and panel_passkey are better-auth's
-- tables under names of our own (`account` is a merchant here). A person may belong to several accounts, so nothing of it begins with the
-- account.
CREATE TABLE panel_user (
  id                  uuid PRIMARY KEY,
  name                text NOT NULL,
  email               text NOT NULL UNIQUE,
  email_verified      boolean NOT NULL,
  image               text,
  two_factor_enabled  boolean NOT NULL DEFAULT false,
  -- Transfers from the panel wait until then: the password was reset.
  frozen_until        timestamptz,
  language            text NOT NULL DEFAULT 'pt-BR',
  created_at          timestamptz NOT NULL,
  updated_at          timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON panel_user TO vintem_app;

-- Sessions of people.
CREATE TABLE panel_session (
  id                uuid PRIMARY KEY,
  user_id           uuid NOT NULL REFERENCES panel_user ON DELETE CASCADE,
  token             text NOT NULL UNIQUE,
  expires_at        timestamptz NOT NULL,
  ip_address        text,
  user_agent        text,
  created_at        timestamptz NOT NULL,
  updated_at        timestamptz NOT NULL,
  -- The last request, noted at most once a minute, and the last time that the password was given again.
  seen_at           timestamptz,
  authenticated_at  timestamptz,
  -- A password alone gives the session of someone who has passkeys and no authenticator app: such a session moves no money.
  by_passkey        boolean NOT NULL DEFAULT false,
  -- Two factors were shown in this very session: a code of the app, a backup code, or a passkey with user verification.
  second_factor     boolean NOT NULL DEFAULT false
);
CREATE INDEX panel_session_user ON panel_session (user_id);
CREATE INDEX panel_session_expires_at ON panel_session (expires_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON panel_session TO vintem_app;

-- Which accounts a session was used in.
CREATE TABLE panel_session_access (
  session_id  uuid NOT NULL REFERENCES panel_session ON DELETE CASCADE,
  account_id  uuid NOT NULL,
  since       timestamptz NOT NULL,
  seen_at     timestamptz NOT NULL,
  PRIMARY KEY (session_id, account_id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON panel_session_access TO vintem_app;

-- How a user proves who they are: `credential` is the password, hashed with Argon2id.
CREATE TABLE panel_credential (
  id                        uuid PRIMARY KEY,
  user_id                   uuid NOT NULL REFERENCES panel_user ON DELETE CASCADE,
  account_id                text NOT NULL,
  provider_id               text NOT NULL,
  access_token              text,
  refresh_token             text,
  id_token                  text,
  access_token_expires_at   timestamptz,
  refresh_token_expires_at  timestamptz,
  scope                     text,
  password                  text,
  created_at                timestamptz NOT NULL,
  updated_at                timestamptz NOT NULL,
  UNIQUE (provider_id, account_id)
);
CREATE INDEX panel_credential_user ON panel_credential (user_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON panel_credential TO vintem_app;

-- Secrets of better-auth that wait to be given back: links of mails and challenges of passkeys.
CREATE TABLE panel_verification (
  id          uuid PRIMARY KEY,
  identifier  text NOT NULL,
  value       text NOT NULL,
  expires_at  timestamptz NOT NULL,
  created_at  timestamptz NOT NULL,
  updated_at  timestamptz NOT NULL
);
CREATE INDEX panel_verification_identifier ON panel_verification (identifier);
-- Rows of sign-in that have ended are removed in steps by a worker, by these indexes.
CREATE INDEX panel_verification_expires_at ON panel_verification (expires_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON panel_verification TO vintem_app;

-- Authenticator apps of people, with their backup codes.
CREATE TABLE panel_two_factor (
  id                         uuid PRIMARY KEY,
  user_id                    uuid NOT NULL REFERENCES panel_user ON DELETE CASCADE,
  -- Both encrypted by better-auth under a secret derived from VINTEM_SECRET.
  secret                     text NOT NULL,
  backup_codes               text NOT NULL,
  verified                   boolean,
  failed_verification_count  integer,
  locked_until               timestamptz,
  -- The last 30 second step whose code was accepted (RFC 6238, 5.2: a code is accepted once).
  last_step                  bigint,
  -- When the first code of the app was accepted; null: none was yet. A reset of the password takes a young app away.
  verified_at                timestamptz
);
CREATE INDEX panel_two_factor_user ON panel_two_factor (user_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON panel_two_factor TO vintem_app;

-- Passkeys of people (WebAuthn).
CREATE TABLE panel_passkey (
  id             uuid PRIMARY KEY,
  user_id        uuid NOT NULL REFERENCES panel_user ON DELETE CASCADE,
  name           text,
  public_key     text NOT NULL,
  credential_id  text NOT NULL UNIQUE,
  counter        bigint NOT NULL,
  device_type    text NOT NULL,
  backed_up      boolean NOT NULL,
  transports     text,
  aaguid         text,
  created_at     timestamptz
);
CREATE INDEX panel_passkey_user ON panel_passkey (user_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON panel_passkey TO vintem_app;

-- Which person belongs to which account, and in which role.
CREATE TABLE panel_member (
  account_id      uuid NOT NULL REFERENCES account,
  user_id         uuid NOT NULL REFERENCES panel_user ON DELETE CASCADE,
  role            text NOT NULL CHECK (role IN ('owner', 'admin', 'finance', 'developer', 'viewer')),
  created_at      timestamptz NOT NULL,
  -- Sessions that began before then no longer open this account; null: each of the person's sessions does.
  sessions_since  timestamptz,
  PRIMARY KEY (account_id, user_id)
);
CREATE INDEX panel_member_user ON panel_member (user_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON panel_member TO vintem_app;

-- Invitations to an account, until they are accepted or expire.
CREATE TABLE panel_invitation (
  account_id   uuid NOT NULL REFERENCES account,
  id           uuid NOT NULL,
  email        text NOT NULL,
  role         text NOT NULL CHECK (role IN ('owner', 'admin', 'finance', 'developer', 'viewer')),
  -- SHA-256 of the secret in the link: 256 random bits need no slow hash.
  token_hash   bytea NOT NULL UNIQUE,
  created_at   timestamptz NOT NULL,
  expires_at   timestamptz NOT NULL,
  accepted_at  timestamptz,
  -- Who made it: it ends with their membership.
  created_by   uuid,
  PRIMARY KEY (account_id, id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON panel_invitation TO vintem_app;

-- From where a person has signed in before: they get a mail about any other place. SHA-256 over address and browser.
CREATE TABLE panel_place (
  user_id  uuid NOT NULL REFERENCES panel_user ON DELETE CASCADE,
  place    bytea NOT NULL,
  since    timestamptz NOT NULL,
  PRIMARY KEY (user_id, place)
);
GRANT SELECT, INSERT, DELETE ON panel_place TO vintem_app;

-- A new address of a person, until the link that was mailed there is opened. One at a time.
CREATE TABLE panel_new_email (
  user_id      uuid PRIMARY KEY REFERENCES panel_user ON DELETE CASCADE,
  email        text NOT NULL,
  -- SHA-256 of the secret in the link: 256 random bits need no slow hash.
  token_hash   bytea NOT NULL UNIQUE,
  expires_at   timestamptz NOT NULL,
  -- The link in the mail to the old address, which ends the change. SHA-256 of its secret.
  cancel_hash  bytea UNIQUE
);
GRANT SELECT, INSERT, UPDATE, DELETE ON panel_new_email TO vintem_app;

-- Counted attempts, for all processes: one row for each thing that is counted. `used_until` moves forward with each attempt
-- (generic cell rate algorithm), so one statement counts and decides.
CREATE TABLE panel_attempt (
  -- SHA-256 over the limit's name and what is counted by (a person, an address, an e-mail): no name or address is kept.
  subject     bytea PRIMARY KEY,
  used_until  timestamptz NOT NULL
);
CREATE INDEX panel_attempt_used_until ON panel_attempt (used_until);
GRANT SELECT, INSERT, UPDATE, DELETE ON panel_attempt TO vintem_app;

-- ----------------------------------------------------------------------------------------------------------- who did what

-- Who changed what, and why. What concerns the whole installation stands under its own account.
CREATE TABLE audit (
  account_id  uuid NOT NULL,
  id          uuid NOT NULL,
  at          timestamptz NOT NULL,
  actor       text NOT NULL,
  action      text NOT NULL,
  subject     text NOT NULL,
  reason      text,
  detail      jsonb NOT NULL,
  PRIMARY KEY (account_id, id)
);
CREATE INDEX audit_reconcile ON audit (account_id, id) WHERE action = 'reconcile';
GRANT SELECT, INSERT ON audit TO vintem_app;

-- Who did what in the panel: kept.
CREATE TABLE panel_audit (
  account_id  uuid NOT NULL,
  id          uuid NOT NULL,
  user_id     uuid,
  action      text NOT NULL,
  detail      jsonb NOT NULL,
  ip_address  text,
  created_at  timestamptz NOT NULL,
  PRIMARY KEY (account_id, id)
);
GRANT SELECT, INSERT ON panel_audit TO vintem_app;

-- Security events of people's accounts: sign-ins, factors, passwords, keys, webhooks, people, refusals, exports. Kept for a year.
CREATE TABLE security_event (
  -- UUIDv7: ordered by time.
  id          uuid PRIMARY KEY,
  at          timestamptz NOT NULL,
  -- Null: it concerns a person and no single account.
  account_id  uuid,
  user_id     uuid,
  session_id  uuid,
  actor       text NOT NULL CHECK (actor IN ('person', 'operator')),
  kind        text NOT NULL,
  outcome     text NOT NULL CHECK (outcome IN ('ok', 'refused')),
  ip_address  text,
  detail      jsonb NOT NULL
);
CREATE INDEX security_event_account ON security_event (account_id, id) WHERE account_id IS NOT NULL;
CREATE INDEX security_event_user ON security_event (user_id, id) WHERE account_id IS NULL;
GRANT SELECT, INSERT, DELETE ON security_event TO vintem_app;
