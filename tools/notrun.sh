#!/usr/bin/env bash
# notrun.sh FILE…: what tests did not check on this machine, by name, with the reason, from what gotestsum --jsonfile wrote. Tests
# say it with package internal/notrun.
set -euo pipefail
list=$(sed -nE 's|.*"Package":"[^"]*/plimsoll/([^"]*)","Test":"([^"]*)",.*"Output":" *[^ ]+: NOT RUN: (.*)\\n".*|\1 \2: \3|p;
	s|.*"Package":"[^"]*/plimsoll/([^"]*)","Test":"([^"]*)","Output":" *[^ ]+: NOT RUN: (.*)\\n".*|\1 \2: \3|p' "$@" | sed 's/\\"/"/g' | sort -u)
# What is left to make ci is counted by reason.
left=$(sed -n 's|.*: \(.*\): left to make ci$|\1|p' <<<"$list" | sort | uniq -c | sed 's|^ *\([0-9]*\) \(.*\)|\2 (\1)|' | paste -sd, | sed 's|,|, |g')
list=$(grep -v ': left to make ci$' <<<"$list" || true)
[ -z "$left" ] || echo "left to make ci, with the number of tests: $left"
if [ -z "$list" ]; then
	echo "not run on this machine: nothing"
else
	printf 'not run on this machine (%d):\n%s\n' "$(wc -l <<<"$list")" "$list"
fi
