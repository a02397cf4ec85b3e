#!/usr/bin/env bash
# All tests that are too long for every day, those included that are too long for `.ci/run`: eight minutes on two cores after
# three of compiling.
#
#   tests/interop/long_tests.sh [FILTER]     [default: all]
set -eu
cd "$(dirname "$0")/../.."
cargo --config 'profile.test.package.skyline-bench.opt-level=1' test --locked --test library -- --ignored --test-threads 2 "$@"
