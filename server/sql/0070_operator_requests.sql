-- compatibleFrom: 0.1.0
-- Acts that one operator asks a second one to agree to, with the postings as both see them: only those are written. Kept, also what was refused.
CREATE TABLE operator_request (
  id            uuid PRIMARY KEY,
  -- A row of the table of acts.
  act           text NOT NULL,
  -- The incident; 'installation' for what concerns all accounts.
  subject       text NOT NULL,
  -- The fields of the act.
  body          jsonb NOT NULL,
  postings      jsonb NOT NULL,
  moved_cents   bigint NOT NULL CHECK (moved_cents >= 0),
  -- SHA-256 of the act with its postings.
  shown         text NOT NULL CHECK (shown ~ '^[0-9a-f]{64}$'),
  reason        text NOT NULL,
  requested_by  uuid NOT NULL REFERENCES operator_person,
  requested_at  timestamptz NOT NULL,
  expires_at    timestamptz NOT NULL,
  -- agreed: a second person has agreed, and the act is under way or its process has ended before it was done. stale: the facts had changed.
  state         text NOT NULL CHECK (state IN ('open', 'agreed', 'done', 'stale', 'refused', 'withdrawn')),
  decided_by    uuid REFERENCES operator_person,
  decided_at    timestamptz,
  CHECK ((state = 'open') = (decided_at IS NULL)),
  CHECK ((decided_by IS NULL) = (decided_at IS NULL)),
  -- The one who asked may withdraw, and agrees to nothing of their own.
  CHECK (decided_by IS NULL OR (decided_by = requested_by) = (state = 'withdrawn'))
);
CREATE INDEX operator_request_open ON operator_request (requested_at) WHERE state = 'open';
CREATE INDEX operator_request_decided ON operator_request (decided_at) WHERE state <> 'open';
GRANT SELECT, INSERT, UPDATE ON operator_request TO vintem_app;
