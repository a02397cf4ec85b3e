#!/usr/bin/env bash
# Compiles with the oldest Rust that Cargo.toml allows (`rust-version`), which is fetched where rustup can.
#
#   .packaging/oldest_rust.sh
source "$(dirname "$0")/common.sh"
rust=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
rustup run "$rust" rustc --version 2>/dev/null || timeout 300 rustup toolchain install "$rust" --profile minimal ||
  fail "NOT TRIED: Rust $rust is not on this machine and cannot be fetched"
RUSTUP_TOOLCHAIN=$rust cargo check --locked --bin skyline
