#!/usr/bin/env bash
# demo.sh PROGRAM: builds plimsoll, and loads the embedded store with it. It says what it does and how long that takes.
set -euo pipefail
program=$1
tools/needs.sh demo go git

echo "1 of 2  build $program. The first time, Go downloads 90 MB and compiles 1,100 packages: 2 to 5 minutes on two cores"
start=$SECONDS
if [ -t 2 ]; then
	# What Go downloads and compiles is one line each.
	if ! out=$(go build -v -o "$program" ./cmd/plimsoll 2>&1 | tee >(awk '{ printf "\r        %d done\033[K", NR >"/dev/stderr" }')); then
		printf '\n%s\n' "$out" | tail -n 20
		exit 1
	fi
	printf '\r\033[K' >&2
else
	go build -o "$program" ./cmd/plimsoll
fi
echo "        built in $((SECONDS - start)) s"

# Reads and a few updates at a rate that a small disk carries, as long as a steady state needs, so that the result has no warnings
# where the machine is quiet. At a given rate, nothing depends on a warm-up.
flags="--workload b --records 20000 --threads 8 --rate 1000 --warmup 0s --duration 40s"
echo "2 of 2  load Plimsoll's embedded store on this disk for 40 s: plimsoll run $flags"
echo
# shellcheck disable=SC2086 # these are several words
exec "$program" run $flags
