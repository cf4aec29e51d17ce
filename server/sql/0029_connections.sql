-- compatibleFrom: 0.1.0
-- Connections as data: one account of the company at one provider. Those of the environment (`simulator`, `live`) have no adapter here.
ALTER TABLE connection
  ADD COLUMN adapter text,
  -- `own`: the provider's account belongs to one merchant, and one account may bind it.
  ADD COLUMN mode text NOT NULL DEFAULT 'shared' CHECK (mode IN ('shared', 'own')),
  -- No money moves: its accounts are test accounts.
  ADD COLUMN test boolean NOT NULL DEFAULT false,
  -- It is the simulator of this installation; its address is the setting's.
  ADD COLUMN simulated boolean NOT NULL DEFAULT false,
  ADD COLUMN url text,
  -- Sealed JSON with the connection's name as context: the current credentials, and those before them.
  ADD COLUMN credentials bytea,
  ADD COLUMN certificate_expires_at timestamptz,
  ADD COLUMN state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'retired')),
  -- Counts changes: running processes see by it that a connection is another one now.
  ADD COLUMN version integer NOT NULL DEFAULT 1,
  ADD COLUMN created_at timestamptz,
  ADD CONSTRAINT connection_made CHECK ((adapter IS NULL) = (credentials IS NULL) AND (adapter IS NULL OR simulated OR url IS NOT NULL));
UPDATE connection SET test = true WHERE id = 'simulator';
