#!/usr/bin/env bash
# The static binary for x86-64: musl, no library and no file beside it. It is left where cargo puts it.
#
#   .packaging/static.sh
#
# The standard library for musl is that of rustup, which fetches it where it is missing; Debian's musl-tools compile the C of
# `ring`. Nightly's build-std would fetch nothing, but it links with Debian's unwinder, which is made for glibc: a panic then ends
# the process, where Skyline must catch it. .packaging/try_static.sh tries the binary in an empty root.
source "$(dirname "$0")/common.sh"
need musl-gcc musl-tools
[ -d "$(rustc --print sysroot)/lib/rustlib/$musl/lib" ] || timeout 300 rustup target add "$musl" ||
  fail "NOT BUILT: the standard library for $musl is not here and cannot be fetched" "rustup target add $musl"
cargo build --profile small --locked --bin skyline --target "$musl"
ls -l "$static" >&2
