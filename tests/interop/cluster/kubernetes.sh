#!/usr/bin/env bash
# `skyline launch k8s` without a cluster. The manifests pass kubernetes-validate (strict), and their Jobs are played by
# processes: the arguments of each container are taken out of what is printed, its variables are expanded as Kubernetes does,
# its files are those of the ConfigMap, and the volume is a folder. The merge begins with the workers and waits for them. The
# merged run is compared with a single run of the same plan.
#
#   tests/interop/cluster/kubernetes.sh [SKYLINE]        by default target/debug/skyline
set -euo pipefail
cd "$(dirname "$0")/../../.."
export SKYLINE; SKYLINE=$(realpath "${1:-target/debug/skyline}")
work=$(mktemp -d); started=()
stop() { for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done; wait; rm -rf "$work"; }
trap stop EXIT
python3 -m venv "$work/venv"; "$work/venv/bin/pip" install -q kubernetes-validate==1.37.0 pyyaml
cd "$work"
"$SKYLINE" workloads show short_chat > chat.toml
"$SKYLINE" mock --port 18766 --hardware h100 > mock.log 2>&1 & started+=($!)

bench=(bench chat.toml 20 --rate 20 --seed 3 --allow-invalid --url http://127.0.0.1:18766 --engine vllm)
"$SKYLINE" launch k8s --shards 4 --name peak --image reg.local/skyline:dev --start-wait 5m -- "${bench[@]}" --salt 7 --api-key-env VLLM_KEY > peak.yaml
"$SKYLINE" launch k8s --shards 300 --name 1e3 --namespace load --secret keys --claim runs --image reg.local/skyline:dev -- \
  bench short_chat 600 --salt 7 --rate 4000 --url http://vllm:8000 --header 'X-Key: env:ROUTE_KEY' --note "it's \"so\" \$(HOME)" > large.yaml
for manifest in peak large; do
  for version in 1.37.0 1.30.0; do
    "$work/venv/bin/kubernetes-validate" --strict -k $version $manifest.yaml
  done
done

cat > play.py <<'PLAY'
import os, pathlib, re, subprocess, sys, yaml

parts = list(yaml.safe_load_all(open("peak.yaml")))
print("parts:", ", ".join(f"{part['kind']} {part['metadata']['name']}" for part in parts))
by_kind = {part["kind"]: part for part in parts}
workers, merge = [part for part in parts if part["kind"] == "Job"]
data = by_kind["ConfigMap"]["data"]
pod = workers["spec"]["template"]["spec"]
items = next(volume["configMap"]["items"] for volume in pod["volumes"] if volume["name"] == "files")
for item in items:
    path = pathlib.Path("files", item["path"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data[item["key"]])

def begin(job, own):
    container = job["spec"]["template"]["spec"]["containers"][0]
    known = {**own, **{one["name"]: one.get("value", "from-the-secret") for one in container.get("env", [])}}
    def expanded(word):
        word = re.sub(r"\$\$|\$\((\w+)\)", lambda m: "$" if m[0] == "$$" else known.get(m[1], m[0]), word)
        return re.sub("^/results", os.path.abspath("results"), word)
    where = "files" if container["workingDir"] == "/files" else "."
    environment = {"PATH": os.environ["PATH"], **known}
    log = open(f"{job['metadata']['name']}-{own.get('JOB_COMPLETION_INDEX', '')}.log", "w")
    words = [os.environ["SKYLINE"], *map(expanded, container["args"])]
    return subprocess.Popen(words, cwd=where, env=environment, stdout=log, stderr=log), log.name

number = workers["spec"]["completions"]
assert number == workers["spec"]["parallelism"] == 4 and workers["spec"]["completionMode"] == "Indexed"
processes = [begin(merge, {})] + [begin(workers, {"JOB_COMPLETION_INDEX": str(index)}) for index in range(number)]
codes = [process.wait() for process, _ in processes]
print(open("peak-merge-.log").read())
for code, (_, log) in zip(codes, processes):
    print(log, "exit", code, "" if code == 0 else open(log).read())
sys.exit(max(codes))
PLAY
"$work/venv/bin/python" play.py
"$SKYLINE" "${bench[@]}" --salt 8 --quiet --out single > single.txt
merged=$(echo results/peak/7/*-merged-*) single=$(echo single/*)
echo "--- one plan"; for run in "$merged" "$single"; do grep -oE '"plan_hash": *"[0-9a-f]+"' "$run/summary.json" | head -1; done | uniq | tee plans
test "$(wc -l < plans)" = 1
echo "--- merged beside single"; "$SKYLINE" compare "$single" "$merged" --allow-invalid
