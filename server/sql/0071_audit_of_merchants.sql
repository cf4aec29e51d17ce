-- One audit log: what people changed in an account stands in it beside what operators did. It stood in a table of the directory, so these rows
-- come into the first cell, whatever cell has their account.
INSERT INTO audit (account_id, id, at, actor, action, subject, reason, detail)
  SELECT account_id, id, created_at, 'panel:' || coalesce(user_id::text, 'unknown'), action, account_id::text, NULL,
      CASE WHEN ip_address IS NULL THEN detail ELSE detail || jsonb_build_object('ipAddress', ip_address) END
    FROM panel_audit;
DROP TABLE panel_audit;
