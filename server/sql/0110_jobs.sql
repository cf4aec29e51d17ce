-- compatibleFrom: 0.1.0
-- Work that is done again and again, by one process at a time: of a connection, or of the whole installation (an empty subject). Who takes it moves
-- `due_at` on for as long as it may take, and to the next turn when it has ended. A row that was not made yet is made by the first turn.
CREATE TABLE job (
  what     text NOT NULL,
  subject  text NOT NULL,
  due_at   timestamptz NOT NULL,
  PRIMARY KEY (what, subject)
) WITH (fillfactor = 50);
GRANT SELECT, INSERT, UPDATE ON job TO vintem_app;

-- These columns of `connection` and `installation` go in a later release.
INSERT INTO job (what, subject, due_at)
  SELECT 'statement', id, statement_due_at FROM connection WHERE statement_due_at IS NOT NULL
  UNION ALL SELECT 'late_statement', id, late_due_at FROM connection
  UNION ALL SELECT 'day_report', id, report_due_at FROM connection WHERE report_due_at IS NOT NULL
  UNION ALL SELECT 'costs', id, costs_due_at FROM connection WHERE costs_due_at IS NOT NULL
  UNION ALL SELECT 'disputes', id, disputes_due_at FROM connection WHERE disputes_due_at IS NOT NULL
  UNION ALL SELECT 'balance', id, balance_due_at FROM connection WHERE balance_due_at IS NOT NULL
  UNION ALL SELECT 'closes', '', close_due_at FROM installation WHERE close_due_at IS NOT NULL;
