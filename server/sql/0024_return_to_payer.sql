-- An older program would look for the reserve of a return on the operation's chain and release it to the merchant: it must not run beside.
-- Money in suspense goes back to its payer: a refund of another Pix than the one that paid the charge.
ALTER TABLE refund DROP CONSTRAINT refund_reason_check;
ALTER TABLE refund ADD CONSTRAINT refund_reason_check CHECK (reason IN ('requested', 'odd_money'));
-- A Pix in suspense goes back as a whole, so one of its returns at most has not failed.
CREATE UNIQUE INDEX refund_return ON refund (account_id, payment_id, end_to_end) WHERE reason = 'odd_money' AND status <> 'failed';

-- What goes back by itself, and how long after it arrived: until then a person can stop it.
ALTER TABLE account ADD COLUMN return_odd_money text NOT NULL DEFAULT 'never'
  CHECK (return_odd_money IN ('never', 'second_payment', 'all'));
ALTER TABLE account ADD COLUMN return_odd_money_after_minutes integer NOT NULL DEFAULT 10
  CHECK (return_odd_money_after_minutes BETWEEN 0 AND 10080);
-- What arrived before the rule is left to people.
ALTER TABLE account ADD COLUMN return_odd_money_since timestamptz;

-- A person keeps its money: the account's rule leaves the incident alone.
ALTER TABLE incident ADD COLUMN kept_at timestamptz;
CREATE INDEX incident_returnable ON incident (opened_at) WHERE state = 'open' AND kept_at IS NULL
  AND kind IN ('amount_mismatch', 'second_payment', 'failed_charge_paid', 'deleted_operation');
