#!/usr/bin/env bash
# filetimes.sh sets the time of each file of this clone to a number that depends on its content only. Go keeps the result of a test
# while the files that the test opened have the same times, and a new clone has new times. If a file was changed, all times stay.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! changes=$(git status --porcelain --untracked-files=no 2>/dev/null) || [ -n "$changes" ]; then
	echo "not a clone, or one with changed files: the times stay"
	exit 0
fi
git -c core.quotePath=off ls-files --stage | while read -r _ blob _ name; do
	touch -h -d "@$((1000000000 + 0x${blob:0:7}))" "$name"
done
find . -path ./.git -prune -o -type d -exec touch -d @1000000000 {} +
