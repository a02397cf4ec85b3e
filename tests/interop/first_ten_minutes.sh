#!/usr/bin/env bash
# A newcomer's first ten minutes in a terminal, under tmux, at 80×24 and at 120×40: the headline command and what follows it,
# a server of one's own (the mock), a mistake of each common kind, a job of CI. The screens are kept as text, one file a
# scene and size.
#
#   tests/interop/first_ten_minutes.sh [PROGRAM] [FOLDER] [SCENES]     [default: skyline, tests/interop/screens, all]
#
# SCENES is a regular expression: scenes whose names it does not match stay as they are.
# It needs tmux and python3, and takes about twenty minutes. Figures differ from run to run: look at what a screen says and
# how it fills. Folders, dates and this machine's name are replaced. A scene that is longer than its screen is named.
set -eu
program=$(realpath "$(command -v "${1:-skyline}")")
folder=${2:-$(dirname "$0")/screens}
scenes=${3:-.}
mkdir -p "$folder"
folder=$(realpath "$folder")
work=$(mktemp -d)
socket=skyline-screens-$$
port=18000
servers=()

terminal() { tmux -u -L "$socket" "$@"; }

clean_up() {
  terminal kill-server 2>/dev/null || true
  for server in "${servers[@]}"; do kill "$server" 2>/dev/null || true; done
  rm -rf "$work"
}
trap clean_up EXIT

# type COMMAND: waits for a prompt after it; fails after five minutes.
type_and_wait() {
  rm -f "$work/.prompt"
  terminal send-keys -l "$1"
  terminal send-keys Enter
  wait_for_prompt
}

wait_for_prompt() {
  for _ in $(seq 1500); do
    [ -e "$work/.prompt" ] && { sleep 0.3; return; }
    sleep 0.2
  done
  echo "no prompt: $(terminal capture-pane -p | head -n 3)" >&2
  exit 1
}

# keep SCENE: the screen as it is.
keep() {
  terminal capture-pane -p | sed -E \
    -e "s#$work#/home/you#g" -e "s/$(hostname)/this-machine/g" \
    -e 's/[0-9]{8}T[0-9]{6}Z/YYYYMMDDThhmmssZ/g' -e 's/20[0-9]{2}-[0-9]{2}-[0-9]{2}/YYYY-MM-DD/g' \
    -e 's/[01][0-9]-[0-3][0-9] [0-2][0-9]:[0-5][0-9]/MM-DD hh:mm/g' -e 's/\b[0-2][0-9]:[0-5][0-9]:[0-5][0-9]/hh:mm:ss/g' -e 's/[[:space:]]*$//' \
    | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' >"$folder/$size/$act/$1.txt"
}

# act NAME: the folder of the scenes that follow.
act() {
  act=$1
  mkdir -p "$folder/$size/$act"
}

# scene NAME COMMAND [SECONDS [KEY]]: types the command and keeps the screen at its end, and as NAME-meanwhile that after
# so many seconds, when it also presses the key.
scene() {
  [[ $1 =~ $scenes ]] || return 0
  type_and_wait clear
  terminal clear-history
  rm -f "$work/.prompt"
  terminal send-keys -l "$2"
  terminal send-keys Enter
  if [ -n "${3:-}" ]; then
    sleep "$3"
    keep "$1-meanwhile"
    [ -z "${4:-}" ] || terminal send-keys "$4"
  fi
  wait_for_prompt
  keep "$1"
  local lines
  lines=$(terminal capture-pane -p -S - | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' | wc -l)
  [ "$lines" -le "${size#*x}" ] || echo "$size $act/$1: $lines lines, the screen has ${size#*x}"
}

# A server that wants a key, as vLLM with --api-key does.
"$program" mock --port "$port" >/dev/null 2>"$work/mock.log" &
servers+=($!)
python3 - $((port + 2)) <<'PYTHON' &
import http.server, sys

class Locked(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        locked = self.path.startswith("/v1")
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(401 if locked else 200)
        body = b'{"error":"Unauthorized"}' if locked else b""
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Locked).serve_forever()
PYTHON
servers+=($!)

own="--url http://127.0.0.1:$port"
for size in 80x24 120x40; do
  [ "$scenes" != . ] || rm -rf "${folder:?}/$size"
  home=$work/$size
  mkdir -p "$home"
  ln -s "$program" "$home/skyline"
  printf 'name = "mine"\narival = { kind = "poisson", rate_per_s = 2 }\n\n[[classes]]\ninput_tokens = "many"\n' >"$home/mistyped.toml"
  terminal kill-server 2>/dev/null || true
  terminal new-session -d -x "${size%x*}" -y "${size#*x}" -c "$home" \
    "env -i TERM=\$TERM LANG=C.UTF-8 HOME=$home PATH=$home:$PATH PS1='\$ ' PROMPT_COMMAND='touch $work/.prompt' bash --norc --noprofile"
  sleep 0.5

  act 1-alone
  scene 01-no-verb "skyline"
  scene 02-help "skyline bench -h"
  scene 03-headline "skyline bench short_chat 30" 22
  scene 04-second-lesson "skyline bench short_chat 30 --hardware a10g" 24
  scene 05-latest "skyline report"
  scene 06-list "skyline report results"
  scene 07-workloads "skyline workloads"
  scene 08-simulate "skyline simulate short_chat 600 --hardware h100"
  scene 09-guide "skyline guide --search burst"

  act 2-own-server
  scene 10-check "skyline check $own"
  scene 11-plan "skyline bench short_chat 60 $own --rate 3 --dry-run"
  scene 12-own-server "skyline bench $own --input-tokens 128 --output-tokens 64 --users 8 --requests 200" 6
  scene 13-as-elsewhere "skyline bench $own --random-input-len 128 --random-output-len 16 --request-rate inf --max-concurrency 16 --num-prompts 100"
  scene 14-translate "skyline translate -- vllm bench serve --model m --dataset-name random --random-input-len 1024 --random-output-len 128 --num-prompts 1000 --max-concurrency 64"
  scene 15-sweep "skyline sweep short_chat $own --rates 1,2,4 --samples 20 --repeats 1 --objective 'p95 ttft < 500ms'" 16
  scene 16-repeats "skyline bench short_chat 10 $own --rate 2 --repeats 3" 14
  scene 17-ctrl-c "skyline bench short_chat 60 $own --rate 3" 12 C-c

  act 3-mistakes
  scene 20-option "skyline bench short_chat 60 --conccurency 8"
  scene 21-option-of-another-tool "skyline bench short_chat 60 --num-workers 8"
  scene 22-workload "skyline bench short_caht 60"
  scene 23-no-such-file "skyline bench my.toml 60"
  scene 24-workload-file "skyline bench mistyped.toml"
  scene 25-objective "skyline bench short_chat 60 --objective 'p95 tfft < 500ms'"
  scene 26-objective-without-unit "skyline bench short_chat 60 --objective 'p95 ttft < 500'"
  scene 27-refused "skyline bench short_chat 60 --engine vllm --url http://127.0.0.1:$((port + 1))" 3
  scene 28-no-scheme "skyline bench short_chat 60 --url localhost:$port"
  scene 29-url-path "skyline bench short_chat 60 --url http://127.0.0.1:$port/api/v2"
  scene 30-host "skyline bench short_chat 60 --url http://no-such-host.invalid:8000" 4 C-c
  scene 31-no-key "skyline bench short_chat 60 --url http://127.0.0.1:$((port + 2))"
  scene 32-key-variable "skyline bench short_chat 60 $own --api-key-env MY_KEY"
  scene 33-model "skyline bench short_chat 60 $own --model gpt-9"
  scene 34-hardware "skyline bench short_chat 60 --hardware h10"
  scene 35-no-result "skyline report results/yesterday"

  act 4-ci
  scene 40-smoke "skyline bench smoke $own --quiet --objective 'error_rate < 1%' --format junit=ci.xml; echo exit \$?; head -n 4 ci.xml | cut -c 1-79"
  scene 41-missed "skyline bench short_chat 10 $own --rate 2 --quiet --objective 'p95 ttft < 1ms'; echo exit \$?"
  scene 42-json "skyline bench smoke $own --json 2>words | head -c 300; echo; cat words"
  scene 43-log "set -o pipefail; skyline bench short_chat 12 $own --rate 1 2>&1 | cat; echo exit \$?"
  scene 44-compare "skyline bench short_chat 12 $own --rate 1 -q >report; skyline compare \$(ls -d results/short_chat-* | tail -n 2)"
  terminal kill-server
done
