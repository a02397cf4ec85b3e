#!/usr/bin/env bash
# Fails the job where the run or the comparison failed; what was measured, then what changed.
set -euo pipefail

code=$BENCH
case $BENCH in
  0) ;;
  1) echo "::error::an objective was missed or is undecided, or the server did not keep up" ;;
  *) echo "::error::skyline bench ended with exit code $BENCH" ;;
esac
case ${COMPARE:-0} in
  0) ;;
  1) echo "::error::a figure is worse than the baseline's by more than is allowed, and not by chance; where that is intended," \
    "give \`baseline\` a new name, or another folder" ;;
  *) echo "::error::the result cannot be compared with the baseline (exit code $COMPARE)" ;;
esac
[ "$code" != 0 ] || code=${COMPARE:-0}
echo "exit-code=$code" >> "$GITHUB_OUTPUT"
exit "$code"
