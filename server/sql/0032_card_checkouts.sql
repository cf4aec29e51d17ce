-- compatibleFrom: 0.1.0
-- cells
-- Card payments by an acquirer's page. What the acquirer has approved and not released is a column of its own: no hold and no withdrawal
-- reaches it. What the acquirer owes is the clearing of its connection.
ALTER TABLE balance ADD COLUMN card_held bigint NOT NULL DEFAULT 0;
ALTER TABLE balance ADD CONSTRAINT balance_card_held_check CHECK (card_held >= 0) NOT VALID;
ALTER TABLE journal ADD COLUMN card_held bigint NOT NULL DEFAULT 0;
ALTER TABLE journal ADD COLUMN card_held_after bigint NOT NULL DEFAULT 0;
ALTER TABLE journal ADD CONSTRAINT journal_card_held_after_check CHECK (card_held_after >= 0) NOT VALID;
ALTER TABLE checkpoint ADD COLUMN card_held bigint NOT NULL DEFAULT 0;
-- The rows that are there have no line for cards, and pass the checks that they were written under: no check here looks at them.
ALTER TABLE journal DROP CONSTRAINT journal_check;
ALTER TABLE journal DROP CONSTRAINT journal_check1;
ALTER TABLE journal ADD CONSTRAINT journal_balanced
  CHECK (available + reserved + held + receivable + clearing + fee_revenue + provider_cost + suspense + adjustments + card_held = 0) NOT VALID;
ALTER TABLE journal ADD CONSTRAINT journal_two_lines
  CHECK ((available <> 0)::int + (reserved <> 0)::int + (held <> 0)::int + (receivable <> 0)::int + (clearing <> 0)::int + (fee_revenue <> 0)::int + (provider_cost <> 0)::int + (suspense <> 0)::int + (adjustments <> 0)::int + (card_held <> 0)::int >= 2) NOT VALID;

-- The page and the card of a payment by card; null: it is none (`money/card.ts`). No number and no token of a card stands here.
ALTER TABLE payment ADD COLUMN card jsonb;
ALTER TABLE payment ADD CONSTRAINT payment_card_check CHECK (jsonb_typeof(card) = 'object') NOT VALID;
-- A paid card payment is settled when its acquirer has released it, and not before.
ALTER TABLE payment DROP CONSTRAINT payment_check2;
ALTER TABLE payment ADD CONSTRAINT payment_settled CHECK ((settled_at IS NOT NULL) = CASE
  WHEN card IS NULL THEN status IN ('paid', 'completed')
  ELSE status = 'paid' AND card ->> 'settlement' IS NOT DISTINCT FROM 'available' END) NOT VALID;
ALTER TABLE payment ADD CONSTRAINT payment_card CHECK (card IS NULL
  OR (kind = 'deposit' AND (status = 'paid') = (card ->> 'settlement' IS NOT NULL))) NOT VALID;

ALTER TABLE intent DROP CONSTRAINT intent_kind_check;
ALTER TABLE intent ADD CONSTRAINT intent_kind_check CHECK (kind IN ('deposit', 'transfer', 'refund', 'cancel', 'checkout')) NOT VALID;
