-- compatibleFrom: 0.1.0
-- Who works at an entry of the operators' worklist. The row of an entry that is there no more goes after a month.
CREATE TABLE worklist_claim (
  -- The kind, the connection and the id of the entry.
  item         text PRIMARY KEY,
  operator_id  uuid NOT NULL REFERENCES operator_person,
  taken_at     timestamptz NOT NULL
);
CREATE INDEX worklist_claim_taken ON worklist_claim (taken_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON worklist_claim TO vintem_app;
