#!/bin/sh
# Make a certificate authority once, and a node certificate when there is none that will do.
#
#   AUTHORITY_FOLDER     where the authority's key stays; the server never sees this folder   (/authority)
#   CERTIFICATES_FOLDER  gets ca.pem, node.pem and node.key, for the server                   (/certificates)
#   EXTRA_NAMES          further names of the server: DNS:search.example.org,IP:192.0.2.7     ()
#   OWNER                user and group of node.key; only root can give it away               (1000:0)
set -eu
umask 077

authority=${AUTHORITY_FOLDER:-/authority}
certificates=${CERTIFICATES_FOLDER:-/certificates}
owner=${OWNER-1000:0}  # the account of the server's image
names="DNS:localhost,DNS:opensearch,IP:127.0.0.1,IP:0:0:0:0:0:0:0:1${EXTRA_NAMES:+,$EXTRA_NAMES}"
authority_days=3650
node_days=397        # what the strictest clients accept of a server
renew_seconds=5184000  # 60 days before its end
bits=3072            # RSA: what every version of the security plugin reads

say() { echo "certificates: $*" >&2; }

mkdir -p "$authority" "$certificates"
chmod 755 "$certificates"

if [ ! -s "$authority/ca.key" ] || [ ! -s "$authority/ca.pem" ]; then
  say "making a certificate authority"
  openssl genpkey -quiet -algorithm RSA -pkeyopt "rsa_keygen_bits:$bits" -out "$authority/ca.key.new"
  openssl req -x509 -new -sha256 -key "$authority/ca.key.new" -days "$authority_days" -subj "/CN=mem-opensearch-ca" \
    -addext "basicConstraints=critical,CA:TRUE,pathlen:0" -addext "keyUsage=critical,keyCertSign,cRLSign" \
    -out "$authority/ca.pem.new"
  mv "$authority/ca.key.new" "$authority/ca.key"
  mv "$authority/ca.pem.new" "$authority/ca.pem"
fi

# Of this authority, valid for long enough, and for all the names.
node_will_do() {
  [ -s "$certificates/node.pem" ] && [ -s "$certificates/node.key" ] &&
    openssl verify -CAfile "$authority/ca.pem" "$certificates/node.pem" >/dev/null 2>&1 &&
    openssl x509 -in "$certificates/node.pem" -noout -checkend "$renew_seconds" >/dev/null &&
    [ "$(cat "$authority/node.names" 2>/dev/null)" = "$names" ]
}

if node_will_do; then
  say "the node certificate is good for 60 days or more"
else
  say "making a node certificate for $names"
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  cat >"$scratch/extensions" <<EOF
basicConstraints=critical,CA:FALSE
keyUsage=critical,digitalSignature,keyEncipherment
extendedKeyUsage=serverAuth,clientAuth
subjectKeyIdentifier=hash
authorityKeyIdentifier=keyid
subjectAltName=$names
EOF
  openssl genpkey -quiet -algorithm RSA -pkeyopt "rsa_keygen_bits:$bits" -out "$scratch/node.key"
  openssl req -new -sha256 -key "$scratch/node.key" -subj "/CN=mem-opensearch-node" -out "$scratch/node.csr"
  openssl x509 -req -sha256 -in "$scratch/node.csr" -CA "$authority/ca.pem" -CAkey "$authority/ca.key" \
    -set_serial "0x$(openssl rand -hex 16)" -days "$node_days" -extfile "$scratch/extensions" \
    -out "$scratch/node.pem" 2>/dev/null
  # The old certificate goes first and the new one comes last: broken off in between, the next run makes both again.
  rm -f "$certificates/node.pem"
  cp "$scratch/node.key" "$certificates/node.key.new"
  [ "$(id -u)" != 0 ] || [ -z "$owner" ] || chown "$owner" "$certificates/node.key.new"
  mv "$certificates/node.key.new" "$certificates/node.key"
  cp "$scratch/node.pem" "$certificates/node.pem.new"
  chmod 644 "$certificates/node.pem.new"
  printf '%s' "$names" >"$authority/node.names"
  mv "$certificates/node.pem.new" "$certificates/node.pem"
fi

cp "$authority/ca.pem" "$certificates/ca.pem.new"
chmod 644 "$certificates/ca.pem.new"
mv "$certificates/ca.pem.new" "$certificates/ca.pem"
