#!/usr/bin/env bash
# All tests that are too long for every day, those included that are too long for `.ci/run`: half an hour on two cores after
# six minutes of compiling.
#
#   tests/interop/long_tests.sh [FILTER]     [default: all]
set -eu
cd "$(dirname "$0")/../.."
cargo --config 'profile.test.package.skyline-bench.opt-level=1' test --locked --lib --test library -- --ignored --test-threads 2 "$@"
