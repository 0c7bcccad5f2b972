#!/usr/bin/env bash
# Does every suite in examples/ at its smallest scale, on labs of its own and on the embedded target, four at a time, and fails
# if one of them did not come to a result. Labs are of every engine that is here: of mongod where one is installed, on PATH or in
# the directory that PLIMSOLL_TEST_MONGOD names, and of documentdb.
#
#   tools/smoke.sh bin/plimsoll
#
# Exit codes that are a result: 0; 4, an objective was missed, as this machine may be slow; 6, too little was measured to be
# believed, as a minute is short. Anything else fails: 1 a part ended without a result, 2 a suite was refused, 3 a target was
# not reached, 5 a write was lost that had to survive, 130 it was interrupted.
set -u
cd "$(dirname "$0")/.."
bin=$(realpath "${1:-bin/plimsoll}")
out=$(mktemp -d "${TMPDIR:-/tmp}/plimsoll-smoke.XXXXXX")
trap 'rm -rf "$out"' EXIT

[ -z "${PLIMSOLL_TEST_MONGOD:-}" ] || PATH="$PLIMSOLL_TEST_MONGOD:$PATH"

# here ENGINE says whether labs of an engine can be made.
here() { "$bin" lab plan --engine "$1" >/dev/null 2>&1; }

# one SUITE TARGET does a suite and leaves a line, and what it said if that was no result. TARGET is an engine or embedded.
one() {
	local suite=$1 target=$2 dir="$out/$1-$2" start=$SECONDS code flags=(--engine "$2")
	[ "$target" != embedded ] || flags=(--target embedded:)
	"$bin" suite run "examples/$suite" --smoke --out "$dir" "${flags[@]}" >"$dir.out" 2>"$dir.err"
	code=$?
	case $code in
	0 | 4 | 6) [ -s "$dir/report.html" ] || code=1 ;;
	esac
	echo "$code" >"$dir.code"
	printf '%-16s %-10s %4d s  exit %d\n' "$suite" "$target" $((SECONDS - start)) "$code"
	case $code in
	0 | 4 | 6) ;;
	*) sed 's/^/    /' "$dir.err" | tail -n 40 ;;
	esac
}

targets=()
for engine in mongod documentdb; do
	if here "$engine"; then targets+=("$engine"); else echo "NOT TESTED on $engine: no lab of it can be made here (plimsoll lab plan --engine $engine)"; fi
done
# Without an engine the parts without a database are done all the same.
[ ${#targets[@]} -gt 0 ] || targets=(documentdb)

running=0
for target in "${targets[@]}" embedded; do
	for suite in policy-storage write-concern ssd-vs-disk failover storage-io; do
		one "$suite" "$target" &
		running=$((running + 1))
		if [ $running -ge 4 ]; then # they wait most of the time
			wait -n
			running=$((running - 1))
		fi
	done
done
wait

bad=0
for file in "$out"/*.code; do
	case $(cat "$file") in
	0 | 4 | 6) ;;
	*) bad=$((bad + 1)) ;;
	esac
done
echo "$(ls "$out"/*.code | wc -l) suites in $SECONDS s, $bad without a result"
[ $bad -eq 0 ]
