-- compatibleFrom: 0.1.0
-- cells
-- The codes in use that pay into the key of a connection: `vintem doctor` looks whether it is still the company's.
CREATE INDEX static_code_of_connection ON static_code (connection, account_id, id) WHERE status = 'active';
