-- compatibleFrom: 0.1.0
-- cells
-- A payout whose provider takes it in one call and sends it by a second one. Null: nothing is known of these steps. prepared: the provider has it and has
-- sent nothing, and no second step of ours began. confirmed: one began. sent: the provider says that it was sent.
ALTER TABLE intent ADD COLUMN step text;
-- The rows that are there have none, so they need not be read.
ALTER TABLE intent ADD CONSTRAINT intent_step_check
  CHECK (step IS NULL OR (step IN ('prepared', 'confirmed', 'sent') AND kind = 'transfer' AND known AND state <> 'ready')) NOT VALID;
