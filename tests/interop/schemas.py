"""Checks what is stored and printed as JSON against the program's own JSON Schemas with another validator.

    python3 -m venv venv && venv/bin/pip install jsonschema
    skyline compare BASELINE OTHER --json > DIR/compare.json; skyline capacity SWEEP … --json > DIR/capacity.json
    venv/bin/python tests/interop/schemas.py SKYLINE DIR

SKYLINE is the binary. Every file below DIR is checked against the schema of its name; `compare.json` of sweeps is recognised by what
is in it.
"""

import json
import pathlib
import subprocess
import sys

import jsonschema

skyline, folder = sys.argv[1], pathlib.Path(sys.argv[2])
validators = {}
for name in ["summary", "repeats", "sweep", "ab", "matrix", "compare", "compare-sweeps", "capacity"]:
    schema = json.loads(subprocess.run([skyline, "report", "--json-schema", name], capture_output=True, check=True).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    validators[name] = jsonschema.Draft202012Validator(schema)

held = 0
for path in sorted(folder.rglob("*.json")):
    name = path.stem
    if name not in validators:
        continue
    value = json.loads(path.read_text())
    if name == "compare" and "answers" in value:
        name = "compare-sweeps"
    validators[name].validate(value)
    # Nothing may be there that is not described.
    value["something_else"] = 1
    assert not validators[name].is_valid(value), f"{name} is open"
    print(f"  {name}: {path}")
    held += 1
assert held, f"nothing to hold in {folder}"
