-- What the readiness check writes to and takes back, to see that there is still room on the disk. Every row fills a page of its own.
CREATE UNLOGGED TABLE write_probe (filling text NOT NULL);
-- Not in CREATE TABLE, which PostgreSQL 15 does not take.
ALTER TABLE write_probe ALTER COLUMN filling SET STORAGE PLAIN;
GRANT INSERT ON write_probe TO vintem_app;
