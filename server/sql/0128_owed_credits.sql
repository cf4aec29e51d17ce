-- compatibleFrom: 0.1.0
-- cells
-- Decisions whose money an account of another cell has still to get (server/src/operate/incidents/owed-credits.ts) are few, and looked for all the time.
CREATE INDEX incident_owed ON incident (resolved_at) WHERE resolution ? 'owed';
