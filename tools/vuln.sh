#!/usr/bin/env bash
# Runs govulncheck: $1 is how a tool is run, $2 the database, or nothing for the public one.
# Findings fail. A database that cannot be reached is not a finding: that is said in plain words
# and passes, so that the tree can be tested on a machine without the internet.
set -uo pipefail

args=()
if [ -n "${2:-}" ]; then args+=(-db "$2"); fi
# A check of the versions of modules takes a second. If one of them has a vulnerability, all calls are checked.
# shellcheck disable=SC2086  # the first argument is a command with its arguments
out=$($1 govulncheck ${args[@]+"${args[@]}"} -scan module -C cmd/plimsoll 2>&1)
code=$?
if [ $code -eq 3 ]; then
	# shellcheck disable=SC2086
	out=$($1 govulncheck ${args[@]+"${args[@]}"} ./... 2>&1)
	code=$?
fi
case $code:$out in
0:*)
	echo "govulncheck: no known vulnerability is called"
	;;
*"fetching vulnerabilities:"*)
	echo "govulncheck: NOT CHECKED: the vulnerability database cannot be reached"
	echo "  ${out##*fetching vulnerabilities: }"
	echo "  (a copy can be given: make vuln VULNDB=file:///DIRECTORY)"
	;;
*)
	printf '%s\n' "$out"
	exit "$code"
	;;
esac
