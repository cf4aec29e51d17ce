#!/bin/sh
# The command of operators beside the units, for root: `vintem check`, `vintem backup FILE`. Settings and secrets are those of the units.
# docs/operators/install.md installs it as /usr/local/bin/vintem.
exec /opt/vintem/node_modules/.bin/node /opt/vintem/deploy/systemd/settings.ts /etc/vintem/settings "$@"
