-- compatibleFrom: 0.1.0
-- cells
-- What merchants answer to disputes: committed before anything of it is sent, one for each dispute.
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
  PRIMARY KEY (account_id, dispute_id),
  FOREIGN KEY (account_id, dispute_id) REFERENCES dispute (account_id, id),
  CHECK ((status = 'failed') = (reason IS NOT NULL)),
  CHECK ((status = 'sent') = (sent_at IS NOT NULL)),
  -- Nothing is unclear and nothing has arrived without an attempt.
  CHECK (status IN ('pending', 'failed') OR attempts > 0),
  CHECK (status <> 'pending' OR (attempts = 0 AND due_at IS NOT NULL))
);
CREATE INDEX dispute_defence_due ON dispute_defence (connection, due_at) WHERE due_at IS NOT NULL;
GRANT SELECT, INSERT, UPDATE ON dispute_defence TO vintem_app;
