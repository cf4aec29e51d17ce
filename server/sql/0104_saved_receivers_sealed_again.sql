-- compatibleFrom: 0.1.0
-- cells
-- A new secret of the installation seals the keys of saved receivers again. The right is of the table: Citus refuses rights of columns.
GRANT UPDATE ON saved_receiver TO vintem_app;
