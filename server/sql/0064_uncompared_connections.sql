-- compatibleFrom: 0.1.0
-- Connections whose payouts of a time that a restore lost were never compared, since their providers list none: there a payout may have been
-- sent in that time, so a refusal of its first send proves nothing. Ended by an operator (`vintem provider compared`).
ALTER TABLE installation ADD COLUMN uncompared_connections text[] NOT NULL DEFAULT '{}';
