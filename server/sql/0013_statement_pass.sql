-- When the reading of the provider's statement that is under way began: it reads up to there, in as many turns as that takes; null: none is.
ALTER TABLE connection ADD COLUMN statement_pass_at timestamptz;
