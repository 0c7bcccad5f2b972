#!/usr/bin/env bash
# needs.sh PURPOSE PROGRAM…: says what `make PURPOSE` needs and this machine does not have, all of it at once, and fails. It checks
# that Go is not older than go.mod wants, and that the disk has room for what Go compiles.
set -uo pipefail
purpose=$1
shift
missing=()
for program in "$@"; do
	command -v "$program" >/dev/null || missing+=("$program")
done
want=$(awk '$1 == "go" { print $2 }' go.mod)
if [ ${#missing[@]} -gt 0 ]; then
	echo "make $purpose needs programs that are not on PATH: ${missing[*]}"
	case " ${missing[*]} " in *" go "* | *" gofmt "*) echo "  Go: install release $want or later, as https://go.dev/doc/install says" ;; esac
	case " ${missing[*]} " in *" git "*) echo "  git: on Debian, run as root: apt-get install git" ;; esac
	exit 1
fi
have=$(go env GOVERSION)
if [ "$(go env GOTOOLCHAIN)" = local ] && [ "$(printf '%s\n' "go$want" "$have" | sort -V | head -n 1)" != "go$want" ]; then
	echo "make $purpose needs Go $want or later, and this is $have. Install it as https://go.dev/doc/install says"
	exit 1
fi
cache=$(go env GOCACHE)
mkdir -p "$cache"
free=$(df -Pk "$cache" | awk 'NR == 2 { print int($4 / 1024) }')
if [ "$free" -lt 3000 ] && [ -z "$(find "$cache" -maxdepth 0 -newermt '-30 days' 2>/dev/null)" ]; then
	echo "make $purpose needs about 3 GB for what Go compiles, and $cache has $free MB. Set GOCACHE to a directory with more space"
	exit 1
fi
