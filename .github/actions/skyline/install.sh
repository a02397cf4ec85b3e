#!/usr/bin/env bash
# Installs the version that the workflow names: the archive must have the checksum that the workflow or the release gives. What
# can be seen to be a mistake is refused first.
set -euo pipefail

refuse() { echo "::error::$1"; echo "exit-code=2" >> "$GITHUB_OUTPUT"; exit 2; }
platform=$(uname -sm)
[ "$platform" = "Linux x86_64" ] || refuse "there is a binary for Linux x86_64 only, and this runner is $platform"
[[ $VERSION =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || refuse "version: \`$VERSION\` is no version, such as 0.1.0"
[[ $MISSING_BASELINE =~ ^(pass|fail)$ ]] || refuse "missing-baseline: \`$MISSING_BASELINE\` is neither pass nor fail"
# The cache finds a baseline by how its key begins, where a slash ends the name.
[[ $BASELINE != */* || -d $BASELINE ]] || refuse "baseline: there is no folder \`$BASELINE\`; a name in the cache has no slash"
# An earlier use in this job may have left its own.
rm -rf .skyline-baseline

# The binary for glibc, which reads GPUs by NVML too; the static one where there is musl, as on Alpine.
libc=gnu
getconf GNU_LIBC_VERSION > /dev/null 2>&1 || libc=musl
archive=skyline-$VERSION-x86_64-unknown-linux-$libc.tar.gz
from=${DOWNLOAD_FROM:-$GITHUB_SERVER_URL/${ACTION_REPOSITORY:-$GITHUB_REPOSITORY}/releases/download/v$VERSION}

place=$(mktemp -d "$RUNNER_TEMP/skyline.XXXXXX")
cd "$place"
fetch() { curl --fail --silent --show-error --location --retry 3 --proto '=https,http,file' --remote-name "$from/$1"; }
fetch "$archive"
if [ -z "$SHA256" ]; then
  fetch SHA256SUMS
  SHA256=$(awk -v name="$archive" '$2 == name { print $1 }' SHA256SUMS)
  [ -n "$SHA256" ] || { echo "::error::SHA256SUMS of $from does not name $archive"; exit 1; }
fi
echo "$SHA256  $archive" | sha256sum -c
tar -xzf "$archive" --strip-components 1
./skyline --version
echo "$place" >> "$GITHUB_PATH"
