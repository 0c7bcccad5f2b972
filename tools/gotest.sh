#!/usr/bin/env bash
# gotest.sh [FLAG…] -- PACKAGE…: go test in two lanes that go on side by side; packages that failed are tested a second
# time, one after the other.
#
# WAITING names packages, as folders of the module, that wait for disks, servers and other processes most of the time. They
# are a lane of their own; all others, which compute, are the other one. LANES (2) is how many packages of each lane are tested
# at once. So a machine of few cores has something to do in every second. In each lane the packages that LONGEST names begin
# first, in its order, so that none of them is alone at the end.
#
# Many packages start servers and processes, and all of them share the machine. A package that passes alone and fails
# beside the others is unstable: that is said at the end, and is a fault to repair, but it is not the fault of the
# change that is being tested. A package that fails twice fails.
set -uo pipefail
go=${GO:-go}
flags=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	flags+=("$1")
	shift
done
shift
log=$(mktemp)
codes=$(mktemp)
trap 'rm -f "$log" "$codes"' EXIT

# Which packages are in which lane, those that take long first.
packages=$("$go" list "$@") || exit
module=$("$go" list -m) || exit
longest=$(for folder in ${LONGEST:-}; do grep -x "$module/$folder" <<<"$packages"; done)
waiting=() computing=()
for name in $(printf '%s\n' $longest $packages | awk '!seen[$0]++'); do
	case " ${WAITING:-} " in
	*" ${name#"$module"/} "*) waiting+=("$name") ;;
	*) computing+=("$name") ;;
	esac
done

# lane NUMBER PACKAGE… tests packages and prints whole lines.
lane() {
	[ $# -gt 1 ] || return 0
	"$go" test "${flags[@]}" -p "$1" "${@:2}" 2>&1 | sed -u ''
}

# The lanes are the two sides of a pipe through which nothing goes: what bash starts with & would not be ended by Ctrl-C,
# and neither would the programs that the tests start.
{
	lane "${LANES:-2}" "${waiting[@]}" >&3 | lane "${LANES:-2}" "${computing[@]}" >&3
	echo "${PIPESTATUS[*]}" >"$codes"
} 3>&1 | tee "$log"

# slowest prints the packages that took longest.
slowest() {
	awk -F '\t' '$1 == "ok  " || $1 == "FAIL" { if ($3 ~ /^[0-9.]+s$/) printf "%8.1f s  %s\n", $3, $2 }' "$log" | sort -rn | head -n 10 |
		sed "s|$module/||; 1s/^/the packages that took longest:\n/"
}
slowest
read -r first second <"$codes"
[ "$first" -eq 0 ] && [ "$second" -eq 0 ] && exit 0
status=$((first > second ? first : second))
mapfile -t failed < <(awk -F '\t' '$1 == "FAIL" && $2 != "" { split($2, name, " "); print name[1] }' "$log" | sort -u)
# Failures without a package, such as one that does not build, are final.
if [ ${#failed[@]} -eq 0 ] || grep -q '\[build failed\]\|\[setup failed\]' "$log"; then
	exit "$status"
fi
echo "=== testing again, alone: ${failed[*]}"
"$go" test -count=1 "${flags[@]}" -p 1 "${failed[@]}" || exit $?
for name in "${failed[@]}"; do
	echo "UNSTABLE $name: failed beside other packages, passed alone; see its failure above"
done
