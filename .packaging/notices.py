"""Prints the notices that go with the binary: each licence text once, below the crates that it covers.

    python3 notices.py > THIRD-PARTY.txt

The texts are those that lie in the crates' sources. A crate without any must have a licence of which the text is known here.
"""

import html
import json
import pathlib
import re
import subprocess
import sys

TARGET = "x86_64-unknown-linux-gnu"
FILES = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
MIT = """\
MIT License

{}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software
is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES
OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE
LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR
IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""


def output(*command):
    """What a command prints; its failure is ours."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def texts(package):
    """The texts in the source of a crate, else that of its licence with its authors."""
    folder = pathlib.Path(package["manifest_path"]).parent
    # The licence of a font lies beside the font.
    places = [*sorted(folder.iterdir()), *sorted(folder.glob("assets/*/*"))]
    found = [file for file in places if FILES.match(file.name) and file.is_file()]
    if found:
        return [file.read_text(errors="replace") for file in found]
    if "MIT" in re.split(r"/| OR ", package["license"] or ""):
        return [MIT.format("Copyright (c) " + ", ".join(package["authors"] or [f"the authors of {package['name']}"]))]
    sys.exit(f"error: {package['name']} {package['version']} has no licence text, and that of {package['license']} is not known here")


tree = output("cargo", "tree", "--locked", "--edges", "normal", "--target", TARGET, "--prefix", "none")
linked = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
packages = json.loads(output("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", TARGET))["packages"]
crates = [p for p in packages if p["source"] and (p["name"], f"v{p['version']}") in linked]
assert len(crates) == len(linked) - 1, "cargo tree and cargo metadata name other crates"

covered = {}
for crate in crates:
    for text in texts(crate):
        known = covered.setdefault(" ".join(text.split()), (text.strip(), []))
        known[1].append(f"{crate['name']} {crate['version']} ({crate['license']})")
library = pathlib.Path(output("rustc", "--print", "sysroot").strip(), "share/doc/rust/COPYRIGHT-library.html").read_text()
plain = re.sub(r"\n\s*\n\s*", "\n\n", html.unescape(re.sub(r"<(style|head).*?</\1>|<[^>]*>", "", library, flags=re.DOTALL)))
sections = [
    *covered.values(),
    (MIT.format("Copyright © 2005-2020 Rich Felker, et al."), ["musl (in the static binary alone)"]),
    (plain.strip(), ["the standard library of Rust"]),
]

print(f"Skyline is linked with {len(crates)} crates of other people, and with the standard library of Rust.")
for text, names in sections:
    print("\n" + "=" * 80, *names, "-" * 80, text, sep="\n")
