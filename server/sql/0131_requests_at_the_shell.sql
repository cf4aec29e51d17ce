-- compatibleFrom: 0.1.0
-- The shell asks for acts too. Its user is no person of the console, so an operator takes the request up, whose it is from then on, and another one agrees.
ALTER TABLE operator_request DROP CONSTRAINT operator_request_shell;
ALTER TABLE operator_request ADD CONSTRAINT operator_request_shell
  CHECK ((requested_by IS NOT NULL OR requested_user IS NOT NULL)
    AND (state NOT IN ('alone', 'seen') OR requested_by IS NULL)
    AND (state NOT IN ('agreed', 'done', 'stale') OR requested_by IS NOT NULL));
