-- What the readiness check writes to and takes back, to see that there is still room on the disk. Every row fills a page of its own.
CREATE UNLOGGED TABLE write_probe (filling text STORAGE PLAIN NOT NULL);
GRANT INSERT ON write_probe TO vintem_app;
