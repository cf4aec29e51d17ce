-- compatibleFrom: 0.1.0
-- To whom a Pix under the identifier of a static code belongs. It is in the directory: several merchants may share a Pix key, and their accounts
-- may be in different cells.
CREATE TABLE static_identifier (
  identifier    text PRIMARY KEY CHECK (identifier ~ '^S[A-Z2-7]{24}$'),
  account_id    uuid NOT NULL REFERENCES account,
  operation_id  uuid NOT NULL,
  code_id       uuid NOT NULL,
  connection    text NOT NULL
);
GRANT SELECT, INSERT ON static_identifier TO vintem_app;
