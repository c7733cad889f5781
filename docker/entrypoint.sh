#!/usr/bin/env bash
# Set up security, then hand over to the official image's own entry point.
#
# The official set-up is not used: its demo certificates, the administrator's among them, are the same everywhere and
# published with their keys, and it leaves demo users in place whose passwords are their names.
#
#   OPENSEARCH_INITIAL_ADMIN_PASSWORD       password of the user admin at the first start with an empty data volume
#   OPENSEARCH_INITIAL_ADMIN_PASSWORD_FILE  a file that holds it                (/run/secrets/opensearch_admin_password)
#   DISABLE_SECURITY_PLUGIN=true            no security at all
set -euo pipefail

home=${OPENSEARCH_HOME:-/usr/share/opensearch}
config=$home/config
certificates=$config/certificates
password_file=${OPENSEARCH_INITIAL_ADMIN_PASSWORD_FILE:-/run/secrets/opensearch_admin_password}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

fail() {
  echo "entrypoint: $*" >&2
  exit 78 # EX_CONFIG of sysexits.h
}

# What the official set-up demands of a password, but 12 characters for 8: it also estimates strength, this does not.
# bcrypt uses no more than 72 bytes.
check_password() {
  local LC_ALL=C
  [ "${#1}" -ge 12 ] && [ "${#1}" -le 72 ] && [[ $1 =~ [A-Z] && $1 =~ [a-z] && $1 =~ [0-9] && $1 =~ [^A-Za-z0-9] ]] ||
    fail "OPENSEARCH_INITIAL_ADMIN_PASSWORD must have 12 to 72 bytes, among them a capital, a small letter, a digit" \
      "and another character"
}

set_up_security() {
  local password hash file
  for file in ca.pem node.pem node.key; do
    [ -r "$certificates/$file" ] || fail "$certificates/$file can't be read; docker/certificates.sh makes it"
  done
  password=${OPENSEARCH_INITIAL_ADMIN_PASSWORD:-}
  if [ -z "$password" ] && [ -r "$password_file" ]; then
    password=$(cat "$password_file")
  fi
  [ -n "$password" ] || fail "no password for the user admin: set OPENSEARCH_INITIAL_ADMIN_PASSWORD"
  check_password "$password"
  hash=$(INITIAL=$password "$home/plugins/opensearch-security/tools/hash.sh" -env INITIAL | grep '^\$2') ||
    fail "the password could not be hashed"
  # Not reserved, so that admin can change the password through the API.
  cat >"$config/opensearch-security/internal_users.yml" <<EOF
_meta:
  type: "internalusers"
  config_version: 2
admin:
  hash: "$hash"
  reserved: false
  backend_roles: ["admin"]
  description: "Administrator"
EOF
  grep -q '^plugins\.security\.ssl\.http\.enabled' "$config/opensearch.yml" ||
    cat "$here/security.yml" >>"$config/opensearch.yml"
}

if [ "${DISABLE_SECURITY_PLUGIN:-}" = true ]; then
  echo "entrypoint: security is off: whoever reaches the port can read, change and delete everything" >&2
else
  set_up_security
fi
unset OPENSEARCH_INITIAL_ADMIN_PASSWORD
export DISABLE_INSTALL_DEMO_CONFIG=true
export DISABLE_PERFORMANCE_ANALYZER_AGENT_CLI=true
exec "$home/opensearch-docker-entrypoint.sh" "$@"
