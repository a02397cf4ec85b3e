#!/usr/bin/env bash
# A newcomer's first ten minutes in a terminal, under tmux, at 80×24 and at 120×40: the headline command, the second lesson,
# a server of one's own (the mock), a mistake of each common kind, a job of CI. The screens are kept as text.
#
#   tests/interop/first_ten_minutes.sh [PROGRAM] [FOLDER]     [default: skyline, tests/interop/screens]
#
# Figures and times differ from run to run; look at what a screen says and how it fills.
set -eu
program=$(command -v "${1:-skyline}")
folder=$(mkdir -p "${2:-$(dirname "$0")/screens}" && cd "${2:-$(dirname "$0")/screens}" && pwd)
work=$(mktemp -d)
ln -s "$(realpath "$program")" "$work/skyline"
trap 'tmux -L "$socket" kill-server 2>/dev/null || true; rm -rf "$work"' EXIT
socket=skyline-screens

# screen NAME COMMAND [SECONDS]: types the command; after SECONDS the screen while it runs, and at the end the last screen.
screen() {
  local file="$folder/$size/$1.txt"
  tmux -L "$socket" send-keys "clear; $2; touch done" Enter
  if [ -n "${3:-}" ]; then
    sleep "$3"
    tmux -L "$socket" capture-pane -p >"${file%.txt}-meanwhile.txt"
  fi
  for _ in $(seq 1200); do [ -e "$work/done" ] && break; sleep 0.2; done
  rm -f "$work/done"
  sleep 0.3
  tmux -L "$socket" capture-pane -p | sed -e "s# *; touch done##" -e 's/[[:space:]]*$//' >"$file"
}

for size in 80x24 120x40; do
  mkdir -p "$folder/$size"
  tmux -L "$socket" kill-server 2>/dev/null || true
  tmux -L "$socket" new-session -d -x "${size%x*}" -y "${size#*x}" -c "$work" "env PATH=$work:$PATH PS1='$ ' bash --norc"
  sleep 0.5
  screen 01-help "skyline -h"
  screen 02-headline "skyline bench short_chat 30" 20
  screen 03-overloaded "skyline bench short_chat 30 --hardware a10g" 25
  screen 04-report "skyline report"
  tmux -L "$socket" send-keys "skyline mock --port 18000 2>mock.log & clear" Enter
  sleep 1
  screen 05-check "skyline check --url http://127.0.0.1:18000"
  screen 06-own-server "skyline bench --url http://127.0.0.1:18000 --input-tokens 128 --output-tokens 16 --rate max --requests 100 --max-concurrency 16"
  screen 07-dry-run "skyline bench short_chat 60 --url http://127.0.0.1:18000 --rate 3 --dry-run"
  screen 08-mistyped-workload "skyline bench short_caht 60"
  screen 09-mistyped-option "skyline bench short_chat --seconds 60 --conccurency 8"
  screen 10-mistyped-objective "skyline bench short_chat 60 --objective 'p95 tfft < 500ms'"
  screen 11-no-server "skyline bench short_chat 60 --engine vllm --url http://127.0.0.1:18001" 3
  screen 12-unknown-model "skyline bench short_chat 60 --url http://127.0.0.1:18000 --model gpt-9"
  screen 13-ci "skyline bench smoke --objective 'error_rate < 1%' --format junit=ci.xml; echo exit \$?; head -c 300 ci.xml"
  screen 14-guide "skyline guide --search burst"
  tmux -L "$socket" kill-server
done
