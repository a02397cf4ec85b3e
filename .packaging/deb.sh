#!/usr/bin/env bash
# The package for Debian and Ubuntu, by cargo-deb, into target/packages; what is in it is said in Cargo.toml
# ([package.metadata.deb]). Lintian must find no error and warn of nothing.
#
#   .packaging/deb.sh
#
# The binary is that of the manylinux wheel, so it runs on every release since Debian 8. .packaging/try_deb.sh tries it.
source "$(dirname "$0")/common.sh"
need lintian; need dpkg-shlibdeps dpkg-dev
.packaging/wheel.sh manylinux
crate cargo-deb 3.8.0

papers=$built/$gnu/dist/papers
rm -rf "$papers"
papers "$built/$gnu/dist/skyline" "$papers"
gzip -9n "$papers"/man/*.1
gzip -9n < .github/CHANGELOG.md > "$papers/changelog.gz"
# Debian's own form of the changelog: one entry, for what it holds stands in CHANGELOG.md.
gzip -9n > "$papers/changelog.Debian.gz" <<C
skyline-bench ($version-1) unstable; urgency=medium

  * Release $version; what is new stands in CHANGELOG.md.

 -- $(sed -n 's/^maintainer = "\(.*\)"$/\1/p' Cargo.toml)  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
C
rm -f "$out"/skyline-bench_*.deb
PATH=$out/tools/bin:$PATH cargo deb --locked --no-build --no-strip --profile dist --target "$gnu" --output "$out/"
lintian --allow-root --fail-on error,warning "$out"/skyline-bench_*.deb
ls -l "$out"/skyline-bench_*.deb >&2
