#!/usr/bin/env bash
# Lays the result down as the new baseline, unless anything failed.
set -euo pipefail

if [ "$BENCH" != 0 ] || [ "$COMPARE" != 0 ]; then
  echo "::notice::the baseline stays what it was, because this run failed"
  exit
fi
rm -rf .skyline-baseline
mkdir .skyline-baseline
cp -r "$RESULT" .skyline-baseline/
echo "laid=true" >> "$GITHUB_OUTPUT"
