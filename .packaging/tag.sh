#!/usr/bin/env bash
# Ends with an error unless a tag may be released: it is the version, and all that is published names the repository it is in.
#
#   .packaging/tag.sh v0.1.0 https://github.com owner/skyline
source "$(dirname "$0")/common.sh"
tag=$1 server=$2 repository=$3
[ "$tag" = "v$version" ] || fail "the tag is $tag, and the version in Cargo.toml $version"
grep -qx "repository = \"$server/$repository\"" Cargo.toml ||
  fail "Cargo.toml has no \`repository = \"$server/$repository\"\`" "cargo binstall takes the archives from there"
for file in src/cli/launch/k8s.rs .packaging/Containerfile; do
  grep -qF "ghcr.io/${repository,,}:" "$file" || fail "the image is published as ghcr.io/${repository,,}, and $file names another"
done
# What is to be filled in before anybody can read it.
if git grep -nE '\bOWNER/' -- . ':!.packaging' || git grep -nF '.invalid' -- Cargo.toml; then
  fail "these places name nobody" "put the owner of the repository, and a maintainer's address, there"
fi
say "$tag of $server/$repository may be released"
