-- compatibleFrom: 0.1.0
-- cells
-- Returns that were posted before 0014 become known returns, so that no refund looks for them in the journal any more. Their reference is
-- `id` or else `rtrId`, and the Pix is not stored; one with a hyphen names the incident by which an operator posted it.
INSERT INTO known_return (account_id, payment, reference, pix, return_id, rtr_id, amount_cents, at, posted)
  SELECT j.account_id, j.subject::text, j.reference, NULL,
    CASE WHEN j.reference !~ '^D[0-9]{20}[a-zA-Z0-9]{11}$' THEN j.reference END,
    CASE WHEN j.reference ~ '^D[0-9]{20}[a-zA-Z0-9]{11}$' THEN j.reference END,
    abs(j.clearing), j.effective_at, true
  FROM journal j JOIN payment p ON p.account_id = j.account_id AND p.id = j.subject
  WHERE (j.event IN (5, 6) OR j.event = 7 AND (p.kind = 'transfer' OR j.suspense < 0)) AND j.reference NOT LIKE '%-%'
  ON CONFLICT (account_id, payment, reference) DO NOTHING;
