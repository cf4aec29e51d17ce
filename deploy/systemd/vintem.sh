#!/bin/sh
# The command of operators beside the units, for root: `vintem check`, `vintem backup FILE`. Settings and secrets are those of the units.
# docs/operators/install.md installs it as /usr/local/bin/vintem.
set -eu
set -a
# shellcheck disable=SC1091
. /etc/vintem/settings
set +a
export NODE_ENV=production DATA_DIR=/var/lib/vintem SIMULATOR_PORT=off
export VINTEM_SECRET_FILE=/etc/vintem/secret DATABASE_URL_FILE=/etc/vintem/database-url
export MIGRATION_DATABASE_URL_FILE=/etc/vintem/migration-database-url
exec /opt/vintem/node_modules/.bin/node /opt/vintem/server/src/cli/launch.js "$@"
