-- cells
-- Defences are sent and followed as everything else that goes to a provider: a row for each that was asked for, with an intent while it is open. A program
-- from before would write rows of the old form, so none works beside this.

-- The rows that are there pass the narrower check that they were written under.
ALTER TABLE intent DROP CONSTRAINT intent_kind_check;
ALTER TABLE intent ADD CONSTRAINT intent_kind_check
  CHECK (kind IN ('deposit', 'due_charge', 'transfer', 'refund', 'cancel', 'checkout', 'due_change', 'defence')) NOT VALID;

-- Of a defence that waits or may have left: it is sent, or queried, at once.
INSERT INTO intent (account_id, payment_id, operation_id, connection, kind, priority, state, fence, attempt, lease_until, due_at, news_at,
    attempt_ended_at, failures, absences, absent_at, absent_since, known, refused, created_at, answered_at, provider_ref, identity)
  SELECT account_id, dispute_id, operation_id, connection, 'defence', CASE WHEN attempts = 0 THEN 0 ELSE 3 END,
      CASE WHEN attempts = 0 THEN 'ready' ELSE 'awaiting' END, coalesce(fence, dispute_id), attempts, NULL, now(), updated_at,
      CASE WHEN attempts = 0 THEN NULL ELSE greatest(updated_at, due_at) END, 0, 0, NULL, NULL, false, false, created_at, NULL, NULL,
      CASE WHEN attempts = 0 THEN NULL ELSE identity END
    FROM dispute_defence WHERE due_at IS NOT NULL;

ALTER TABLE dispute_defence
  DROP CONSTRAINT dispute_defence_status_check,
  DROP CONSTRAINT dispute_defence_check,
  DROP CONSTRAINT dispute_defence_check1,
  DROP CONSTRAINT dispute_defence_check2,
  DROP CONSTRAINT dispute_defence_check3,
  DROP CONSTRAINT dispute_defence_pkey,
  -- A function of account, dispute and how many were refused before, which the provider never sees. Of an older row the dispute's id, with which its text is sealed.
  ADD COLUMN id uuid,
  -- The charge whose Pix is disputed.
  ADD COLUMN payment_id uuid,
  -- Of the dispute.
  ADD COLUMN amount_cents bigint,
  ADD COLUMN fingerprint bytea,
  -- The random token of the command that created it.
  ADD COLUMN command uuid;
UPDATE dispute_defence f SET id = f.dispute_id, payment_id = d.payment_id, amount_cents = d.amount_cents, fingerprint = decode(repeat('00', 32), 'hex'),
    command = f.dispute_id, attempts = CASE WHEN f.due_at IS NULL THEN f.attempts ELSE 0 END,
    status = CASE WHEN f.status = 'sent' THEN 'completed' WHEN f.status = 'failed' THEN 'failed' WHEN f.due_at IS NULL THEN 'expired' ELSE 'unknown' END
  FROM dispute d WHERE d.account_id = f.account_id AND d.id = f.dispute_id;
ALTER TABLE dispute_defence
  ALTER COLUMN id SET NOT NULL,
  ALTER COLUMN payment_id SET NOT NULL,
  ALTER COLUMN amount_cents SET NOT NULL,
  ADD CONSTRAINT dispute_defence_amount_cents_check CHECK (amount_cents > 0),
  ALTER COLUMN fingerprint SET NOT NULL,
  ALTER COLUMN command SET NOT NULL,
  ALTER COLUMN file_ids DROP DEFAULT,
  ALTER COLUMN file_ids TYPE jsonb USING to_jsonb(file_ids),
  ALTER COLUMN file_ids SET DEFAULT '[]',
  -- The intent has these while it is open.
  DROP COLUMN due_at,
  DROP COLUMN fence,
  DROP COLUMN identity,
  DROP COLUMN connection,
  ADD PRIMARY KEY (account_id, id),
  -- unknown: waits to be sent, or may have been; completed: the provider has it; failed: it certainly has not; expired: the dispute has ended, and whether
  -- the provider has it was never known.
  ADD CONSTRAINT dispute_defence_status_check CHECK (status IN ('unknown', 'completed', 'failed', 'expired')),
  ADD CONSTRAINT dispute_defence_reason CHECK ((status = 'failed') = (reason IS NOT NULL)),
  ADD CONSTRAINT dispute_defence_sent CHECK ((status = 'completed') = (sent_at IS NOT NULL)),
  -- Those that may have left, once it is over: nothing arrives without one, and of more than one no refusal is certain.
  ADD CONSTRAINT dispute_defence_left CHECK (CASE status WHEN 'unknown' THEN attempts = 0 WHEN 'failed' THEN attempts <= 1 ELSE attempts > 0 END);
-- Another one takes the place of one that the provider refused for what it says, and of no other.
CREATE UNIQUE INDEX dispute_defence_of_dispute ON dispute_defence (account_id, dispute_id) WHERE reason IS DISTINCT FROM 'provider_refused';
CREATE INDEX dispute_defence_all ON dispute_defence (account_id, dispute_id, created_at);
