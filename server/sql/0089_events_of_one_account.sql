-- compatibleFrom: 0.1.0
-- What a person did to their own access belongs to the account that they are in, if it is one, and is written with it from here on.
UPDATE security_event e SET account_id = m.account_id
  FROM (SELECT user_id, min(account_id::text)::uuid AS account_id, min(created_at) AS since
      FROM panel_member GROUP BY user_id HAVING count(*) = 1) m
  WHERE e.account_id IS NULL AND e.user_id = m.user_id AND e.at >= m.since;
