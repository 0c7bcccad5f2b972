#!/usr/bin/env bash
# filetimes.sh gives each file of this clone a time that is made of its content. Go keeps the result of a test while the files that
# the test opened have the same times, and a new clone has new times. Changed files keep theirs, so nothing is done with changes.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! changes=$(git status --porcelain --untracked-files=no 2>/dev/null) || [ -n "$changes" ]; then
	echo "this is no clone without changes: the files keep their times"
	exit 0
fi
git -c core.quotePath=off ls-files --stage | while read -r _ blob _ name; do
	touch -h -d "@$((1000000000 + 0x${blob:0:7}))" "$name"
done
find . -path ./.git -prune -o -type d -exec touch -d @1000000000 {} +
