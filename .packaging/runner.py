"""Runs the steps of a composite action of GitHub as a runner does, for .packaging/try_action.sh.

    python3 runner.py ACTION_FOLDER PLACE [INPUT=VALUE ...]

With the variable SAME_JOB the action is used once more in the job before, whose workspace stays. Of expressions it knows what
this action uses: names of contexts, strings, ==, !=, && and ||. Of other actions it knows the cache and the artifacts of
actions/, which are folders below PLACE. It prints the job's page and exits with the job's code.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

import yaml

action, place = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
given = dict(argument.split("=", 1) for argument in sys.argv[3:])
described = yaml.safe_load((action / "action.yml").read_text())
unknown = set(given) - set(described["inputs"])
assert not unknown, f"the action has no inputs {unknown}"
inputs = {name: str(given.get(name, entry.get("default", ""))) for name, entry in described["inputs"].items()}

run = sum(1 for _ in place.glob("temp-*")) + 1
workspace, temp = place / "workspace", place / f"temp-{run}"
if not os.environ.get("SAME_JOB"):
    shutil.rmtree(workspace, ignore_errors=True)  # A job begins with an empty workspace.
for folder in (workspace, temp, place / "cache", place / "artifacts"):
    folder.mkdir(parents=True, exist_ok=True)
github = {"run_id": str(1000 + run), "run_attempt": "1", "action_repository": "owner/skyline"}
steps, page, path, failed = {}, temp / "page.md", [], 0
page.touch()


def value(name):
    """The value of a context's name; absent ones are empty, as a runner has it."""
    kind, *rest = name.split(".")
    if kind == "inputs":
        return inputs[rest[0]]
    if kind == "github":
        return github[rest[0]]
    assert kind == "steps" and rest[1] == "outputs", f"unknown name {name}"
    return steps.get(rest[0], {}).get(rest[2], "")


def evaluate(expression):
    """An expression's value, by Python: each name becomes its value as a string."""
    parts = re.split(r"('[^']*')", expression)
    for at in range(0, len(parts), 2):
        parts[at] = re.sub(r"\b(?:inputs|github|steps)(?:\.[\w-]+)+", lambda found: repr(value(found[0])), parts[at])
        parts[at] = parts[at].replace("&&", " and ").replace("||", " or ")
    return eval("".join(parts), {"__builtins__": {}})


def filled(text):
    """The text with its expressions replaced by their values."""
    return re.sub(r"\$\{\{(.*?)\}\}", lambda found: str(evaluate(found[1].strip())), str(text))


def pairs(file):
    """The lines `name=value` that a step wrote."""
    return dict(line.split("=", 1) for line in file.read_text().splitlines())


def command(step, number):
    """A step with `run`: the environment is the runner's, the inputs come by `env` alone."""
    files = {name: temp / f"{name.lower()}-{number}" for name in ("GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_ENV")}
    for file in files.values():
        file.touch()
    environment = {
        "PATH": os.pathsep.join([*reversed(path), os.environ["PATH"]]),
        "HOME": str(temp), "CI": "true", "GITHUB_ACTIONS": "true", "RUNNER_TEMP": str(temp),
        "GITHUB_WORKSPACE": str(workspace), "GITHUB_ACTION_PATH": str(action), "GITHUB_STEP_SUMMARY": str(page),
        "GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "user/project",
        **{name: str(file) for name, file in files.items()},
        **{name: filled(text) for name, text in step.get("env", {}).items()},
    }
    assert step["shell"] == "bash" and "${{" not in step["run"], "an expression in a script could add commands to it"
    script = temp / f"step-{number}.sh"
    script.write_text(step["run"])
    done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", script], cwd=workspace, env=environment, check=False)
    steps[step.get("id")] = pairs(files["GITHUB_OUTPUT"])
    path.extend(files["GITHUB_PATH"].read_text().splitlines())
    return done.returncode


def entry(key):
    """A key of the cache as the name of one folder: the cache compares keys as texts, in which a slash is a sign like others."""
    return urllib.parse.quote(key.strip(), safe="")


def known(step):
    """A step with `uses`: the cache and the artifacts are folders."""
    name, given = step["uses"].split("@")[0], {key: filled(text) for key, text in step["with"].items()}
    assert re.fullmatch(r"[0-9a-f]{40}", step["uses"].split("@")[1]), f"{step['uses']} is not pinned"
    if name == "actions/upload-artifact":
        shutil.copytree(given["path"], place / "artifacts" / f"{run}-{given['name']}")
    elif name == "actions/cache/save":
        shutil.copytree(workspace / given["path"], place / "cache" / entry(given["key"]))
    elif name == "actions/cache/restore":
        matching = (folder for folder in (place / "cache").iterdir() if folder.name.startswith(entry(given["restore-keys"])))
        kept = sorted(matching, key=lambda folder: folder.stat().st_mtime)
        if kept:
            shutil.copytree(kept[-1], workspace / given["path"])
    else:
        raise AssertionError(f"unknown action {name}")
    return 0


for number, step in enumerate(described["runs"]["steps"], 1):
    if not evaluate(step.get("if", "'true'")):
        print(f"-- {step['name']}: skipped", flush=True)
        continue
    print(f"-- {step['name']}", flush=True)
    failed = command(step, number) if "run" in step else known(step)
    if failed:
        break
for name, entry in described["outputs"].items():
    print(f"output {name}: {filled(entry['value'])}")
print(f"-- the job's page: {page}, {len(page.read_text().splitlines())} lines")
sys.exit(failed)
