#!/usr/bin/env bash
# Tries the package for Debian in a new root by debootstrap: installed, run, completed, read; then removed, which must leave
# nothing.
#
#   .packaging/try_deb.sh [bookworm]
source "$(dirname "$0")/common.sh"
need debootstrap
[ "$(id -u)" = 0 ] || fail "a new root is made by root" "sudo $0"
deb=$(ls "$out"/skyline-bench_"$version"-*.deb) || fail "no package in $out" ".packaging/deb.sh"
place=$(mktemp -d); trap 'rm -rf --one-file-system "$place"' EXIT
inside() { chroot "$place/root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"; }
files() { (cd "$place/root" && find . -xdev ! -path './proc/*' ! -path './var/lib/dpkg/*' ! -path './var/log/*' ! -path './var/cache/*' | sort); }

say "debootstrap ${1:-bookworm}"
debootstrap --variant=minbase --include=man-db,bash-completion "${1:-bookworm}" "$place/root" > "$place/log" || fail "debootstrap: $(tail -n 3 "$place/log")"
files > "$place/before"

say "dpkg -i $(basename "$deb")"
cp "$deb" "$place/root/skyline.deb"
inside dpkg -i /skyline.deb
rm "$place/root/skyline.deb"

say "a run"
inside sh -c 'cd /root && skyline --version && skyline bench smoke 5 --quiet'
say "man pages"
inside man -w skyline skyline-bench
inside sh -c 'MANPAGER=cat man skyline-bench | head -n 6'
say "completions of bash"
# shellcheck disable=SC2016 # It is the shell inside that expands.
inside bash -c '. /usr/share/bash-completion/bash_completion && _completion_loader skyline; complete -p skyline &&
  COMP_WORDS=(skyline comp) COMP_CWORD=1 && "$(complete -p skyline | grep -oE "\-F [^ ]+" | cut -c4-)" skyline comp skyline &&
  printf "%s\n" "${COMPREPLY[@]}" && [[ " ${COMPREPLY[*]} " == *" compare "* ]]'
ls "$place/root/usr/share/zsh/vendor-completions/_skyline" "$place/root/usr/share/fish/vendor_completions.d/skyline.fish"

say "removal"
rm -r "$place/root/root/results"
inside dpkg --purge skyline-bench
files > "$place/after"
diff "$place/before" "$place/after" || fail "the package left or took files"
say "nothing is left"
