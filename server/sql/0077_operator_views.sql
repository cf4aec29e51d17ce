-- compatibleFrom: 0.1.0
-- Filters of a list that an operator keeps. Each operator sees their own.
CREATE TABLE operator_view (
  operator_id  uuid NOT NULL REFERENCES operator_person,
  -- So many for each operator.
  slot         smallint NOT NULL CHECK (slot BETWEEN 1 AND 30),
  page         text NOT NULL,
  name         text NOT NULL,
  -- What stands in the address.
  search       jsonb NOT NULL,
  PRIMARY KEY (operator_id, slot),
  UNIQUE (operator_id, page, name)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_view TO vintem_app;
