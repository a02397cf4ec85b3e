#!/usr/bin/env bash
# What a release consists of beside the wheels and the package for Debian, into target/packages: archives for glibc and musl
# with completions, man pages and papers; a bill of materials (CycloneDX); SHA256SUMS of all that lies there. Run it last.
#
#   .packaging/dist.sh
#
# The binary for glibc is that of the manylinux wheel.
source "$(dirname "$0")/common.sh"
.packaging/wheel.sh manylinux
.packaging/static.sh

for target in "$gnu" "$musl"; do
  binary=$static; [ "$target" = "$musl" ] || binary=$built/$gnu/dist/skyline
  name=skyline-$version-$target
  rm -rf "${out:?}/$name"
  papers "$binary" "$out/$name"
  install -m 755 "$binary" "$out/$name/skyline"
  tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf - "$name" | gzip -9n > "$out/$name.tar.gz"
  rm -rf "${out:?}/$name"
done

crate cargo-cyclonedx 0.5.9
# It writes beside the manifest only.
trap 'rm -f "$root/skyline-sbom.json"' EXIT
PATH=$out/tools/bin:$PATH cargo cyclonedx --quiet --format json --spec-version 1.5 --target "$gnu" --override-filename skyline-sbom
mv skyline-sbom.json "$out/skyline-$version.cdx.json"
python3 - "$out/skyline-$version.cdx.json" "$gnu" "$musl" <<'P'
import json, subprocess, sys, tomllib
bill = json.load(open(sys.argv[1]))
assert bill["bomFormat"] == "CycloneDX" and bill["metadata"]["component"]["name"] == "skyline-bench"
locked = {(p["name"], p["version"]) for p in tomllib.load(open("Cargo.lock", "rb"))["package"]}
listed = {(c["name"], c["version"]) for c in bill["components"]}
assert listed and listed <= locked, f"not in Cargo.lock: {listed - locked}"
tree = ["cargo", "tree", "--locked", "--edges", "normal", "--prefix", "none", "--target"]
for target in sys.argv[2:]:
    lines = subprocess.run([*tree, target], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    linked = {(name, version[1:]) for name, version, *_ in map(str.split, filter(None, lines))} - {("skyline-bench", bill["metadata"]["component"]["version"])}
    assert linked and linked <= listed, f"in the binary, and not in the bill of materials: {linked - listed}"
print(f"bill of materials: {len(listed)} crates, of which the binary has {len(linked)}")
P

# What `cargo binstall` will ask for must be the name of an archive.
python3 - "$version" "$gnu" "$musl" "$out" <<'P'
import pathlib, sys, tomllib
version, *targets, out = sys.argv[1:]
binstall = tomllib.load(open("Cargo.toml", "rb"))["package"]["metadata"]["binstall"]
for target in targets:
    def filled(text):
        for key, value in {"version": version, "target": target, "bin": "skyline", "binary-ext": ""}.items():
            text = text.replace("{ " + key + " }", value)
        return text
    archive = pathlib.Path(out) / filled(binstall["pkg-url"]).rsplit("/", 1)[-1]
    assert archive.is_file(), f"cargo binstall would ask for {archive.name}"
    import tarfile
    assert filled(binstall["bin-dir"]) in tarfile.open(archive).getnames(), f"{archive.name} has no {filled(binstall['bin-dir'])}"
P

rm -f "$out/SHA256SUMS"
sums=$(cd "$out" && find . -maxdepth 1 -type f -printf '%P\n' | sort | xargs sha256sum)
printf '%s\n' "$sums" | tee "$out/SHA256SUMS"
