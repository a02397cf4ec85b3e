#!/usr/bin/env bash
# Licences, sources and duplicates of the dependencies (.cargo/deny.toml), by cargo-deny, which is installed where it is missing:
# without optimisation it is built in two to four minutes.
#
#   tests/interop/dependencies.sh
set -eu
cd "$(dirname "$0")/../.."
cargo deny --version >/dev/null 2>&1 || CARGO_PROFILE_DEV_DEBUG=0 cargo install --locked --debug --quiet cargo-deny --version 0.20.2
cargo deny check licenses bans sources
