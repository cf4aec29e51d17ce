-- The core: directory, ledger, payments, sends, and what the till reads.
--
-- Everything lives in schema vintem, owned by vintem_owner; the service works as vintem_app. All ids and times come from
-- the program. Primary and unique keys begin with the account, except in the directory (installation, account, api_key,
-- connection and its limits).

-- ---------------------------------------------------------------------------------------------------------------- directory

CREATE TABLE installation (
  id                     smallint PRIMARY KEY CHECK (id = 1),
  -- 32 bytes, made at the first start and never changed: payment ids and fingerprints are HMACs under it.
  identity_secret        bytea NOT NULL,
  withdrawals_paused_at  timestamptz,
  withdrawals_paused_reason text,
  -- Set by a restore: until a reconciliation has ended, every new intent counts as one unclear attempt.
  restored_at            timestamptz,
  created_at             timestamptz NOT NULL
);

CREATE TABLE account (
  id                       uuid PRIMARY KEY,
  -- 32 bits, random: the first four bytes of every payment id. 0 is the installation itself.
  number                   bigint NOT NULL UNIQUE CHECK (number BETWEEN 0 AND 4294967295),
  name                     text NOT NULL,
  test                     boolean NOT NULL,
  connection               text NOT NULL,
  enabled                  boolean NOT NULL DEFAULT true,
  withdrawals_blocked      boolean NOT NULL DEFAULT false,
  withdrawal_fee_cents     bigint NOT NULL DEFAULT 25 CHECK (withdrawal_fee_cents >= 0),
  withdrawal_fee_bps       integer NOT NULL DEFAULT 0 CHECK (withdrawal_fee_bps BETWEEN 0 AND 10000),
  deposit_fee_cents        bigint NOT NULL DEFAULT 0 CHECK (deposit_fee_cents >= 0),
  deposit_fee_bps          integer NOT NULL DEFAULT 0 CHECK (deposit_fee_bps BETWEEN 0 AND 10000),
  minimum_deposit_cents    bigint NOT NULL DEFAULT 200 CHECK (minimum_deposit_cents >= 200),
  maximum_deposit_cents    bigint NOT NULL DEFAULT 200000 CHECK (maximum_deposit_cents <= 200000),
  minimum_withdrawal_cents bigint NOT NULL DEFAULT 1000 CHECK (minimum_withdrawal_cents >= 1000),
  maximum_withdrawal_cents bigint NOT NULL DEFAULT 1000000 CHECK (maximum_withdrawal_cents <= 1000000),
  created_at               timestamptz NOT NULL,
  CHECK (minimum_deposit_cents <= maximum_deposit_cents),
  CHECK (minimum_withdrawal_cents <= maximum_withdrawal_cents)
);

CREATE TABLE api_key (
  -- The public part of the key: 12 base62 characters.
  id           text PRIMARY KEY,
  account_id   uuid NOT NULL REFERENCES account,
  name         text NOT NULL,
  permissions  text[] NOT NULL,
  -- HMAC-SHA-256 of the whole key under the pepper named by pepper_id.
  hash         bytea NOT NULL,
  pepper_id    text NOT NULL,
  created_at   timestamptz NOT NULL,
  expires_at   timestamptz,
  revoked_at   timestamptz,
  last_used_at timestamptz
);
CREATE INDEX api_key_account ON api_key (account_id, created_at);

-- A provider connection: `simulator` for test accounts, `live` for the others.
CREATE TABLE connection (
  id               text PRIMARY KEY,
  -- The secret part of the address that the provider delivers to.
  webhook_token    text NOT NULL,
  -- The shared query limit as a token bucket with one timestamp (GCRA), and the leases of the queries under way.
  query_bucket_at  timestamptz NOT NULL
);

CREATE TABLE query_slot (
  connection   text NOT NULL REFERENCES connection,
  slot         smallint NOT NULL,
  lease_until  timestamptz NOT NULL,
  PRIMARY KEY (connection, slot)
);

-- Slots for sends, where the adapter limits how many may be under way at once.
CREATE TABLE send_slot (
  connection   text NOT NULL REFERENCES connection,
  slot         smallint NOT NULL,
  lease_until  timestamptz NOT NULL,
  PRIMARY KEY (connection, slot)
);

-- One row per connection and kind of call; written on change by whoever calls, read by every flush.
CREATE TABLE breaker (
  connection   text NOT NULL REFERENCES connection,
  call         text NOT NULL,
  open         boolean NOT NULL,
  probe_at     timestamptz NOT NULL,
  changed_at   timestamptz NOT NULL,
  PRIMARY KEY (connection, call)
);

-- Token buckets of the rate limits, so that all processes count together. Not logged: after a crash every bucket is full
-- again, which harms nobody.
CREATE UNLOGGED TABLE rate_bucket (
  -- Policy and owner (key, account, address).
  id           text PRIMARY KEY,
  -- The instant up to which it is spent, in ms since 1970 with fractions: 300 a second is 3 1/3 ms each.
  spent_until  double precision NOT NULL
) WITH (fillfactor = 50);

-- --------------------------------------------------------------------------------------------------------------- operations

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

-- ------------------------------------------------------------------------------------------------------------------- ledger

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
  -- The random token of the command that posted it: what tells "mine was committed" from "somebody's was".
  command           uuid NOT NULL,
  version           smallint NOT NULL,
  previous          bytea NOT NULL,
  hash              bytea NOT NULL,
  PRIMARY KEY (account_id, chain_id, seq),
  UNIQUE (account_id, subject, event, reference),
  CHECK (available + reserved + held + receivable + clearing + fee_revenue + provider_cost + suspense + adjustments = 0),
  CHECK ((available <> 0)::int + (reserved <> 0)::int + (held <> 0)::int + (receivable <> 0)::int + (clearing <> 0)::int
       + (fee_revenue <> 0)::int + (provider_cost <> 0)::int + (suspense <> 0)::int + (adjustments <> 0)::int >= 2)
);

-- ----------------------------------------------------------------------------------------------------------------- payments

CREATE TABLE payment (
  account_id         uuid NOT NULL,
  -- A function of account and request key: this key is at the same time the uniqueness of the request key.
  id                 uuid NOT NULL,
  operation_id       uuid NOT NULL,
  kind               text NOT NULL,
  status             text NOT NULL,
  amount_cents       bigint NOT NULL CHECK (amount_cents > 0),
  fee_cents          bigint NOT NULL CHECK (fee_cents >= 0),
  request_key        uuid NOT NULL,
  fingerprint        bytea NOT NULL,
  description        text NOT NULL,
  payer_name         text,
  pix_key            bytea,
  pix_key_type       text,
  created_at         timestamptz NOT NULL,
  updated_at         timestamptz NOT NULL CHECK (updated_at >= created_at),
  settled_at         timestamptz,
  paid_at            timestamptz,
  expires_at         timestamptz,
  copy_paste         text,
  end_to_end         text,
  notice             text,
  reason_code        text,
  provider_fee_cents bigint CHECK (provider_fee_cents >= 0),
  net_amount_cents   bigint CHECK (net_amount_cents >= 0),
  -- What the provider is known to have returned of a completed transfer.
  returned_cents     bigint NOT NULL DEFAULT 0 CHECK (returned_cents >= 0),
  -- Every state entered: [{status, at, cause}].
  history            jsonb NOT NULL,
  -- The random token of the command that created it.
  command            uuid NOT NULL,
  PRIMARY KEY (account_id, id),
  CHECK ((kind = 'deposit' AND status IN ('unknown', 'pending', 'paid', 'failed', 'expired') AND payer_name IS NOT NULL)
      OR (kind = 'transfer' AND status IN ('draft', 'unknown', 'pending', 'completed', 'cancelled')
          AND fee_cents < amount_cents AND pix_key IS NOT NULL AND pix_key_type IS NOT NULL)),
  CHECK ((status IN ('paid', 'completed')) = (settled_at IS NOT NULL)),
  CHECK (returned_cents = 0 OR (status = 'completed' AND returned_cents <= net_amount_cents))
) WITH (fillfactor = 80);
CREATE INDEX payment_list ON payment (account_id, operation_id, created_at, id);
-- What blocks the deletion of an operation.
CREATE INDEX payment_draft ON payment (account_id, operation_id) WHERE status = 'draft';
CREATE INDEX payment_end_to_end ON payment (account_id, end_to_end) WHERE end_to_end IS NOT NULL;

-- A payment that is still to be sent or followed: goes with the terminal state. `ready` has certainly never been sent.
CREATE TABLE intent (
  account_id        uuid NOT NULL,
  payment_id        uuid NOT NULL,
  operation_id      uuid NOT NULL,
  connection        text NOT NULL,
  kind              text NOT NULL CHECK (kind IN ('deposit', 'transfer')),
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
  -- Since when nothing but absences and refused repeats was heard; a day of it opens an incident.
  absent_since      timestamptz,
  -- The provider named the id a duplicate: it knows it, so it is never sent again.
  known             boolean NOT NULL,
  -- A repeat was refused.
  refused           boolean NOT NULL,
  created_at        timestamptz NOT NULL,
  PRIMARY KEY (account_id, payment_id),
  CHECK ((state = 'sending') = (lease_until IS NOT NULL)),
  CHECK (state <> 'ready' OR attempt = 0),
  CHECK (state = 'ready' OR attempt > 0)
) WITH (fillfactor = 50);
CREATE INDEX intent_due ON intent (connection, priority, due_at);

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
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, reference)
);
CREATE INDEX incident_operation ON incident (account_id, operation_id) WHERE state = 'open';
CREATE INDEX incident_payment ON incident (account_id, payment_id) WHERE state = 'open';

-- ------------------------------------------------------------------------------------------------------------------- events

CREATE TABLE event (
  account_id    uuid NOT NULL,
  id            uuid NOT NULL,
  type          text NOT NULL,
  operation_id  uuid NOT NULL,
  payment_id    uuid,
  -- The exact bytes of the payload, frozen from the committed state.
  body          text NOT NULL,
  created_at    timestamptz NOT NULL,
  PRIMARY KEY (account_id, id)
);

-- Raw deliveries of the providers, stored before anything else is done with them. Encrypted.
CREATE TABLE inbound (
  id            uuid PRIMARY KEY,
  connection    text NOT NULL REFERENCES connection,
  received_at   timestamptz NOT NULL,
  body          bytea NOT NULL,
  authentic     boolean NOT NULL,
  applied_at    timestamptz,
  -- Tries that failed, and when the next one is due: until then its own process is expected to apply it.
  tries         integer NOT NULL DEFAULT 0,
  next_at       timestamptz NOT NULL
);
CREATE INDEX inbound_open ON inbound (connection, next_at) WHERE applied_at IS NULL AND authentic;
-- What retention looks for.
CREATE INDEX inbound_received ON inbound (received_at);

-- -------------------------------------------------------------------------------------------------------------- permissions

GRANT USAGE ON SCHEMA vintem TO vintem_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON
  api_key, connection, query_slot, send_slot, breaker, rate_bucket, intent, inbound, event TO vintem_app;
GRANT SELECT, INSERT, UPDATE ON
  installation, account, operation, balance, payment, incident TO vintem_app;
-- What is written once stays.
GRANT SELECT, INSERT ON request_key, journal TO vintem_app;
