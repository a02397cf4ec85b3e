#!/usr/bin/env bash
# Every command of README and the guide, and every example of output that the same input always gives, those that take
# minutes included: rounds of an A/B test, an engine fitted to runs, searches in virtual time.
#
#   tests/interop/guide_commands.sh
#
# `cargo test` runs the others, shortened and against a mock (tests/cli/guide).
set -eu
cd "$(dirname "$0")/../.."
cargo test --test cli guide:: -- --include-ignored
