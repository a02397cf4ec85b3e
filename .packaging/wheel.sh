#!/usr/bin/env bash
# The Python packages, into target/packages: `pip install skyline-bench` brings the command `skyline`.
#
#   .packaging/wheel.sh [manylinux|musllinux|sdist]...     # all three where none is named
#
# manylinux2014 is glibc 2.17, older than any machine that serves models has: zig, from PyPI, links against it on a machine
# with a newer one. The musllinux wheel holds the static binary. .packaging/try_wheel.sh tries all three.
source "$(dirname "$0")/common.sh"
[ $# -gt 0 ] || set -- manylinux musllinux sdist
pypi maturin==1.16.0 ziglang==0.17.0
trap 'rm -rf "$root/.packaging/licences"' EXIT
licences .packaging/licences

for kind in "$@"; do
  rm -f "$out"/skyline_bench-*"$kind"*.whl
  case $kind in
    manylinux) (cd .packaging && maturin build --zig --compatibility manylinux2014 --target "$gnu" --out "$out") ;;
    musllinux)
      # Its binary is the one that cargo has built there; maturin packs it.
      .packaging/static.sh
      (cd .packaging && maturin build --profile small --compatibility musllinux_1_2 --target "$musl" --out "$out") ;;
    sdist) (cd .packaging && maturin sdist --out "$out") ;;
    *) fail "\`$kind\` is no kind of Python package" "manylinux, musllinux, sdist" ;;
  esac
done
ls -l "$out"/skyline_bench-* >&2
