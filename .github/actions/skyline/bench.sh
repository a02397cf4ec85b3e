#!/usr/bin/env bash
# Runs the workload. It fails by no verdict, for the results are compared and kept first; verdict.sh says what they were.
set -euo pipefail

command=(bench "$WORKLOAD")
[ -z "$SECONDS_OF_RUN" ] || command+=("$SECONDS_OF_RUN")
[ -z "$URL" ] || command+=(--url "$URL")
while IFS= read -r line; do [ -z "$line" ] || command+=(--objective "$line"); done <<< "$OBJECTIVES"
while IFS= read -r line; do [ -z "$line" ] || command+=("$line"); done <<< "$ARGUMENTS"
[ "$REPEATS" = 1 ] || command+=(--repeats "$REPEATS")

results=$(mktemp -d "$RUNNER_TEMP/skyline-results.XXXXXX")
code=0
skyline "${command[@]}" --quiet --out "$results" > "$results.txt" || code=$?
cat "$results.txt"
echo "exit-code=$code" >> "$GITHUB_OUTPUT"

folder=$(find "$results" -mindepth 1 -maxdepth 1 -type d)
[ -n "$folder" ] || { echo "::error::skyline bench made no result (exit code $code); it says why above"; exit "$code"; }
echo "folder=$folder" >> "$GITHUB_OUTPUT"
# Two uses in one run may end within one second.
echo "artifact=${folder##*/}-${results##*.}" >> "$GITHUB_OUTPUT"

# Several runs have one report as text; a single run has its summary as Markdown.
if [ -e "$folder/repeats.json" ]; then
  { echo '```text'; cat "$results.txt"; echo '```'; } >> "$GITHUB_STEP_SUMMARY"
else
  skyline report "$folder" --format markdown=- >> "$GITHUB_STEP_SUMMARY" || true
  skyline report "$folder" --format junit > /dev/null || true
fi
