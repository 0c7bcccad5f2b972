#!/usr/bin/env bash
# gotest.sh [FLAG…] -- PACKAGE…: go test; packages that failed are tested a second time, one after the other.
#
# The packages that LONGEST names, as folders of the module, begin first, in its order, so that none of them is alone at the end.
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
trap 'rm -f "$log"' EXIT

packages=$("$go" list "$@") || exit
module=$("$go" list -m) || exit
longest=$(for folder in ${LONGEST:-}; do grep -x "$module/$folder" <<<"$packages"; done)
mapfile -t ordered < <(printf '%s\n' $longest $packages | awk '!seen[$0]++')
"$go" test "${flags[@]}" "${ordered[@]}" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}

# slowest prints the packages that took longest.
slowest() {
	awk -F '\t' '$1 == "ok  " || $1 == "FAIL" { if ($3 ~ /^[0-9.]+s$/) printf "%8.1f s  %s\n", $3, $2 }' "$log" | sort -rn | head -n 10 |
		sed "s|$module/||; 1s/^/the packages that took longest:\n/"
}
slowest
[ "$status" -eq 0 ] && exit 0
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
