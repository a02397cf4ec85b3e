#!/usr/bin/env bash
# Does with the action's steps what a runner does (runner.py), against mock servers: a first run without a baseline, another that
# equals it, one against a server whose first tokens take 40 % longer, which the gate must find; then what must be refused. The
# archives are those of .packaging/dist.sh.
#
#   .packaging/try_action.sh
source "$(dirname "$0")/common.sh"
[ -e "$out/SHA256SUMS" ] || fail "no archives in $out" ".packaging/dist.sh"
pypi pyyaml==6.0.3
place=$(mktemp -d); mocks=(); trap 'kill "${mocks[@]}" 2>/dev/null; rm -rf "$place"' EXIT
binary=$built/$gnu/dist/skyline
"$binary" mock --port 18441 --ttft log-normal:40ms:0.3 --itl 4ms > /dev/null 2>&1 & mocks+=($!)
"$binary" mock --port 18442 --ttft log-normal:56ms:0.3 --itl 4ms > /dev/null 2>&1 & mocks+=($!)

job() {
  say "$1: must exit with $2"
  local code=0 want=$2; shift 2
  python .packaging/runner.py .github/actions/skyline "$place" "version=$version" "download-from=file://$out" "$@" > "$place/log" 2>&1 || code=$?
  cat "$place/log"
  [ "$code" = "$want" ] || fail "it exited with $code"
}
said() { grep -qF -- "$1" "$place/log" || fail "it does not say: $1"; }
shows() { grep -qF -- "$1" "$place/temp-$(find "$place" -maxdepth 1 -name 'temp-*' | wc -l)/page.md" || fail "the job's page does not show: $1"; }
run=(workload=smoke seconds=40 arguments=$'--rate=20\n--allow-invalid' baseline=main "max-regression=p50 ttft 10%")

job "smoke against the embedded mock" 0 "objectives=error_rate < 1%"
shows "VALID"
job "no baseline yet" 0 "${run[@]}" url=http://127.0.0.1:18441 update-baseline=true
said "no baseline"; shows "nothing is compared"; said "Store the new baseline"
job "another baseline, whose name begins as that one does" 0 "${run[@]}" seconds=5 baseline=main-gpu url=http://127.0.0.1:18442 update-baseline=true
said "no baseline"; said "Store the new baseline"
job "a baseline that must be there" 2 "${run[@]}" seconds=5 baseline=mai missing-baseline=fail url=http://127.0.0.1:18441
said "there is no baseline \`mai\`"
job "the same server" 0 "${run[@]}" url=http://127.0.0.1:18441
shows "PASSED: 1 of 1 demands met"
SAME_JOB=1 job "a second use in that job, of a baseline that is not there" 0 "${run[@]}" seconds=5 baseline=new url=http://127.0.0.1:18441
said "no baseline"
job "a server 40 % slower" 1 "${run[@]}" url=http://127.0.0.1:18442 update-baseline=true
shows "missed"; said "worse than the baseline"; said "give \`baseline\` a new name"; said "the baseline stays what it was"
[ "$(find "$place/artifacts" -name summary.json | wc -l)" = 7 ] || fail "not every result was kept"
job "an objective that is missed" 1 url=http://127.0.0.1:18441 "objectives=p50 ttft < 1ms"
job "an input that would be a command" 2 "workload=smoke; touch $place/injected"
said "output exit-code: 2"
[ ! -e "$place/injected" ] || fail "an input became a command"
job "a folder that is not there" 2 baseline=baselines/main
said "there is no folder"; said "output exit-code: 2"
job "an archive with another checksum" 1 "sha256=$(printf '%064d' 0)"
said "FAILED"
say "the action does what it says"
