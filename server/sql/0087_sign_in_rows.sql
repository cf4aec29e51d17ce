-- compatibleFrom: 0.1.0
-- Rows of sign-in that have ended are removed in steps by a worker, by these indexes.
CREATE INDEX panel_verification_expires_at ON panel_verification (expires_at);
CREATE INDEX panel_session_expires_at ON panel_session (expires_at);

-- Tokens are stored as their SHA-256 from here on, in hex. Sessions that began before continue; a process of the version before does not
-- find them, and their people sign in again there.
DELETE FROM panel_session WHERE expires_at < now();
UPDATE panel_session SET token = encode(sha256(convert_to(token, 'UTF8')), 'hex');
DELETE FROM panel_verification;

-- When the first code of the app was accepted; null: before this was kept. A reset of the password takes a young app away.
ALTER TABLE panel_two_factor ADD COLUMN verified_at timestamptz;
