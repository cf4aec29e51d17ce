-- Webhooks to merchants: the published event log, endpoints, and deliveries.

-- ------------------------------------------------------------------------------------------------------------------- events

-- Set on a test event: it is for this endpoint alone, and neither in the log nor in the stream.
ALTER TABLE event ADD COLUMN endpoint_id uuid;

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
-- Per payment `created_at` strictly increases, whatever the clocks of several processes say.
CREATE INDEX event_fresh_order ON event_fresh (created_at, event_id);
INSERT INTO event_fresh SELECT account_id, id, type, operation_id, payment_id, created_at FROM event;

-- One publisher at a time: whoever holds this row. One row per shard.
CREATE TABLE publisher (
  shard  smallint PRIMARY KEY
);
INSERT INTO publisher VALUES (0);

-- Without gaps per account, given after the commit: what a reader may follow.
CREATE TABLE event_log (
  account_id  uuid NOT NULL,
  seq         bigint NOT NULL CHECK (seq > 0),
  event_id    uuid NOT NULL,
  PRIMARY KEY (account_id, seq)
);

CREATE TABLE event_sequence (
  account_id  uuid PRIMARY KEY,
  last_seq    bigint NOT NULL
) WITH (fillfactor = 50);

-- Transfers of which `transfer.unknown` was told: once per payment.
CREATE TABLE unknown_told (
  account_id  uuid NOT NULL,
  payment_id  uuid NOT NULL,
  told_at     timestamptz NOT NULL,
  PRIMARY KEY (account_id, payment_id)
);

-- ---------------------------------------------------------------------------------------------------------------- endpoints

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

-- Changes of an address, for their limit per hour.
CREATE TABLE webhook_url_change (
  account_id  uuid NOT NULL,
  changed_at  timestamptz NOT NULL
);
CREATE INDEX webhook_url_change_account ON webhook_url_change (account_id, changed_at);

-- The queue of an endpoint. Whoever holds its lease delivers for the endpoint, and nobody else.
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

-- ---------------------------------------------------------------------------------------------------------------- deliveries

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

-- -------------------------------------------------------------------------------------------------------------- permissions

GRANT SELECT, INSERT, UPDATE, DELETE ON
  event_fresh, event_log, event_sequence, unknown_told, webhook_url_change, webhook_lane, webhook_delivery TO vintem_app;
GRANT SELECT, INSERT, UPDATE ON webhook_endpoint, publisher TO vintem_app;
