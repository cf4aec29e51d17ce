#!/bin/sh
# Makes the secrets of deploy/compose.yaml, each once: what exists is kept. Nothing has a default.
set -eu
umask 077
cd "$(dirname "$0")"
mkdir -p secrets
random() { openssl rand -hex 24; }
make() {
  if [ -s "secrets/$1" ]; then return; fi
  printf '%s' "$2" >"secrets/$1.part"
  mv "secrets/$1.part" "secrets/$1"
}
make postgres_password "$(random)"
make service_password "$(random)"
make grafana_password "$(random)"
make vintem_secret "$(openssl rand -base64 32)"
make database_url "postgres://vintem_service:$(cat secrets/service_password)@database:5432/vintem"
make migration_database_url "postgres://postgres:$(cat secrets/postgres_password)@database:5432/vintem"
# Containers read them as users of their own; the folder keeps others of this machine out.
chmod 700 secrets
chmod 644 secrets/*
echo "secrets are in $(pwd)/secrets: keep a copy of vintem_secret apart from the backups"
