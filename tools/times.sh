#!/usr/bin/env bash
# times.sh FILE: the packages and the tests that took longest, from what gotestsum --jsonfile wrote. Packages run side by side, so
# their seconds include waiting for a processor.
set -euo pipefail
echo "packages:"
sed -nE 's|.*"Action":"(pass\|fail)","Package":"[^"]*/plimsoll/([^"]*)","Elapsed":([0-9.]+).*|\3\t\2|p' "$1" | sort -rn | head -n 20 |
	awk -F '\t' '{ printf "%8.1f s  %s\n", $1, $2 }'
echo "tests:"
$TOOL gotestsum tool slowest --num 40 --jsonfile "$1"
