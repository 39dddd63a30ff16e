#!/usr/bin/env bash
# Publishes the matrix of a night in the branch `pages` of a repository: the newest as index.html, each night's own beside it, and the
# results that the next night is compared with.
#
#     deploy/publish-matrix.sh REMOTE DIR...
set -euo pipefail
remote=$1
shift
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
git clone --quiet --depth 1 --branch pages "$remote" "$site" 2>/dev/null || git init --quiet --initial-branch pages "$site"

matrix() { cargo run --release --locked -- matrix "$@" --html "$site/index.html"; }
before=("$site"/last/*/)
# Results of another version cannot be compared; the page is then published without a comparison.
if ! { [ -d "${before[0]}" ] && matrix "$@" --before "${before[@]}"; }; then matrix "$@"; fi

night=$(date -u +%F)
cp "$site/index.html" "$site/$night.html"
rm -rf "$site/last"
for folder in "$@"; do
    mkdir -p "$site/last/$(basename "$folder")"
    cp "$folder/summary.json" "$folder/coverage.json" "$site/last/$(basename "$folder")"
done
touch "$site/.nojekyll"

git -C "$site" add --all
git -C "$site" -c user.name=nightly -c user.email=nightly@localhost commit --quiet --message "The matrix of $night"
git -C "$site" push --quiet "$remote" HEAD:pages
