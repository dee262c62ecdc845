#!/bin/sh
# Writes .env beside docker-compose.yml with random passwords; leaves one alone that is there.
set -eu
cd "$(dirname "$0")/.."
if [ -e .env ]; then
    echo ".env is there; nothing was changed" >&2
    exit 0
fi
word() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
umask 077
printf 'POSTGRES_PASSWORD=%s\nCOMMITGATE_OWNER_PASSWORD=%s\nCOMMITGATE_SERVICE_PASSWORD=%s\n' \
    "$(word)" "$(word)" "$(word)" > .env
echo ".env is written; keep it, the database knows its passwords from its first start" >&2
