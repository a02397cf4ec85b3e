#!/usr/bin/env bash
# Installs the version that the workflow names: the archive must have the checksum that the workflow or the release gives.
set -euo pipefail

[[ $VERSION =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { echo "::error::version: \`$VERSION\` is no version, such as 0.1.0"; exit 2; }
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
echo "$SHA256  $archive" | sha256sum --check --strict
tar -xzf "$archive" --strip-components 1
./skyline --version
echo "$place" >> "$GITHUB_PATH"
