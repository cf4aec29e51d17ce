-- compatibleFrom: 0.1.0
-- The key of the addresses of public pages (ground/page-address.ts), sealed under the installation's secret with its id as context. A row for
-- each version of the form. It is made once and never changes: another secret seals it again, and printed addresses live on.
CREATE TABLE page_key (
  id      text PRIMARY KEY,
  sealed  bytea NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON page_key TO vintem_app;
