#!/usr/bin/env bash
# How often the headline command is VALID: on this machine as it is, and beside a process that keeps a core busy.
#
#   tests/interop/headline.sh [RUNS] [SECONDS] [PROGRAM]     [default: 10 60 skyline]
#
# Wanted on an idle machine with two cores: 9 of 10 alone, 7 of 10 beside the busy process.
set -u
runs=${1:-10} seconds=${2:-60} skyline=${3:-skyline}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

measure() {
  local valid=0
  for run in $(seq "$runs"); do
    "$skyline" bench short_chat "$seconds" --quiet --out "$folder" >"$folder/report" 2>"$folder/words"
    local code=$?
    printf '  %s: exit %s, %s\n' "$run" "$code" "$(head -n 1 "$folder/report")"
    [ "$code" -eq 0 ] && valid=$((valid + 1))
  done
  echo "$1: VALID in $valid of $runs runs"
}

measure "alone"
sh -c 'while :; do :; done' &
busy=$!
measure "beside a process that keeps a core busy"
kill "$busy"
