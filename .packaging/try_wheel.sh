#!/usr/bin/env bash
# Tries the Python packages of target/packages: each wheel that this machine can run in a new environment beside another
# package, and by `uvx`; with --sdist the source distribution too, which is compiled (minutes).
#
#   .packaging/try_wheel.sh [--sdist]
source "$(dirname "$0")/common.sh"
place=$(mktemp -d); trap 'rm -rf "$place"' EXIT
wheel=$(ls "$out"/skyline_bench-"$version"-*manylinux*.whl) || fail "no wheel in $out" ".packaging/wheel.sh"

try() {
  say "pip install $(basename "$1") beside pyyaml"
  python3 -m venv "$place/venv"
  "$place/venv/bin/pip" install --quiet --disable-pip-version-check pyyaml "$1"
  "$place/venv/bin/pip" check
  "$place/venv/bin/python" -c "import yaml, importlib.metadata as m; assert m.version('skyline-bench') == '$version'"
  (cd "$place" && "$place/venv/bin/skyline" --version && "$place/venv/bin/skyline" bench smoke 5 --quiet)
  "$place/venv/bin/pip" uninstall --quiet --yes skyline-bench
  [ ! -e "$place/venv/bin/skyline" ] || fail "pip uninstall left the command behind"
  rm -rf "$place/venv"
}

try "$wheel"
python3 -m zipfile -e "$wheel" "$place/unpacked"
say "its licences"
for paper in LICENSE THIRD-PARTY.txt; do
  ls "$place/unpacked/skyline_bench-$version.dist-info/licenses/licences/$paper" || fail "the wheel has no $paper"
done
say "the glibc that it asks for"
objdump -T "$place/unpacked/skyline_bench-$version.data/scripts/skyline" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1 | tee "$place/glibc"
[ "$(printf '%s\nGLIBC_2.17\n' "$(cat "$place/glibc")" | sort -V | tail -n 1)" = GLIBC_2.17 ] || fail "newer than manylinux2014"

pypi uv==0.13.8
say "uvx"
(cd "$place" && UV_CACHE_DIR=$place/uv uvx --offline --from "$wheel" skyline --version)

# pip takes no wheel of musl where glibc is, so its binary runs by itself; .packaging/try_static.sh tries that one further.
if wheel=$(ls "$out"/skyline_bench-"$version"-*musllinux*.whl 2>/dev/null); then
  say "the binary of $(basename "$wheel")"
  python3 -m zipfile -e "$wheel" "$place/musl"
  binary=$place/musl/skyline_bench-$version.data/scripts/skyline
  chmod +x "$binary"
  "$binary" --version
else
  say "NOT TRIED: no musllinux wheel in $out"
fi

if [ "${1-}" = --sdist ]; then try "$out/skyline_bench-$version.tar.gz"; else say "NOT TRIED: the source distribution (--sdist)"; fi
