#!/bin/sh
# Run once by the database's image on an empty volume: the login of the service, which `vintem migrate` makes a member of vintem_app alone.
set -eu
psql --username postgres --dbname vintem --set ON_ERROR_STOP=1 --set password="$(cat /run/secrets/service_password)" <<'SQL'
CREATE ROLE vintem_service LOGIN PASSWORD :'password';
SQL
