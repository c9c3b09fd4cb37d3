#!/usr/bin/env bash
# Installs the servers that tests need, in pinned versions, unless they are
# there: dynoxide (DynamoDB) and versitygw (S3).
#   shared/testing/standin/install.sh [directory]   default: $HOME/.cargo/bin and $(go env GOPATH)/bin
# What is on PATH already counts as there. Compiling both takes some minutes.
set -euo pipefail

dynoxide_crate=3.2.0 # needs Rust 1.88
versitygw=v1.8.0

cargo_bin=${1:-${CARGO_HOME:-$HOME/.cargo}/bin}
go_bin=${1:-$(go env GOPATH)/bin}
PATH=$cargo_bin:$go_bin:${CARGO_HOME:-$HOME/.cargo}/bin:$PATH

# cargo may be rustup's, Debian's or Debian's newer one (cargo-web), of which
# only a new enough one will do.
new_enough() { # 1.88 or later
  local minor
  minor=$("$1" --version 2>/dev/null | sed -n 's/^cargo 1\.\([0-9]*\)\..*/\1/p')
  [ "${minor:-0}" -ge 88 ]
}

if ! command -v dynoxide >/dev/null; then
  if ! new_enough cargo; then
    echo 'dynoxide needs cargo 1.88 or later: install it with rustup (https://rustup.rs), or on Debian 12 with: apt-get install cargo-web' >&2
    exit 1
  fi
  echo "installing dynoxide-rs $dynoxide_crate into $cargo_bin"
  root=$(mktemp -d)
  trap 'rm -rf "$root"' EXIT
  cargo install --quiet --locked --root "$root" --version "$dynoxide_crate" dynoxide-rs
  mkdir -p "$cargo_bin"
  install -m 755 "$root/bin/dynoxide" "$cargo_bin/dynoxide"
fi

if ! command -v versitygw >/dev/null; then
  echo "installing versitygw $versitygw into $go_bin"
  mkdir -p "$go_bin"
  GOBIN=$go_bin go install "github.com/versity/versitygw/cmd/versitygw@$versitygw"
fi
