-- How far the provider's statement has been read by itself, and when it is read next; null: not yet. The time is a lease as well.
ALTER TABLE connection ADD COLUMN statement_read_to timestamptz, ADD COLUMN statement_due_at timestamptz;
