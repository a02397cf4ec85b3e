#!/usr/bin/env bash
# Compares the result with the baseline: a folder, or what the cache brought. A first run has none, and passes unless it may not.
set -euo pipefail

folder=
if [ -d "$BASELINE" ]; then
  folder=$BASELINE
elif [ -d .skyline-baseline ]; then
  folder=$(find .skyline-baseline -mindepth 1 -maxdepth 1 -type d)
fi
if [ -z "$folder" ] && [ "$MISSING_BASELINE" = fail ]; then
  echo "::error::there is no baseline \`$BASELINE\`; a run with \`update-baseline: true\` and \`missing-baseline: pass\` stores one"
  echo "exit-code=2" >> "$GITHUB_OUTPUT"
  exit
elif [ -z "$folder" ]; then
  echo "::notice::there is no baseline \`$BASELINE\` yet: nothing is compared"
  echo "There is no baseline \`$BASELINE\` yet: nothing is compared." >> "$GITHUB_STEP_SUMMARY"
  echo "exit-code=0" >> "$GITHUB_OUTPUT"
  exit
fi

command=(compare "$folder" "$RESULT" --undecided "$UNDECIDED")
while IFS= read -r line; do [ -z "$line" ] || command+=(--max-regression "$line"); done <<< "$MAX_REGRESSION"
while IFS= read -r line; do [ -z "$line" ] || command+=(--vary "$line"); done <<< "$VARY"
code=0
skyline "${command[@]}" --format "text,markdown=$RUNNER_TEMP/skyline-compare.md" || code=$?
[ ! -e "$RUNNER_TEMP/skyline-compare.md" ] || cat "$RUNNER_TEMP/skyline-compare.md" >> "$GITHUB_STEP_SUMMARY"
rm -f "$RUNNER_TEMP/skyline-compare.md"
echo "exit-code=$code" >> "$GITHUB_OUTPUT"
