-- compatibleFrom: 0.1.0
-- An act that takes two people, done by one at the shell all the same: recorded before it is done, and then seen by an operator.
ALTER TABLE operator_request ALTER COLUMN requested_by DROP NOT NULL;
-- The system's user at the shell; null: an operator in the console.
ALTER TABLE operator_request ADD COLUMN requested_user text;
ALTER TABLE operator_request DROP CONSTRAINT operator_request_state_check;
-- alone: done, or begun, at the shell, and no operator has seen it yet. seen: one has.
ALTER TABLE operator_request ADD CONSTRAINT operator_request_state_check
  CHECK (state IN ('open', 'agreed', 'done', 'stale', 'refused', 'withdrawn', 'alone', 'seen'));
ALTER TABLE operator_request DROP CONSTRAINT operator_request_check;
ALTER TABLE operator_request ADD CONSTRAINT operator_request_check CHECK ((state IN ('open', 'alone')) = (decided_at IS NULL));
ALTER TABLE operator_request ADD CONSTRAINT operator_request_shell
  CHECK ((requested_by IS NULL) = (requested_user IS NOT NULL) AND (requested_by IS NULL) = (state IN ('alone', 'seen')));
CREATE INDEX operator_request_alone ON operator_request (requested_at) WHERE state = 'alone';
