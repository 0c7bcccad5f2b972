// Package wording rewrites the texts of errors by Go, the kernel and drivers as a person reads them: where something
// failed and how, without the names of calls. Records keep the texts as they were; what shows them to a person rewrites
// them.
package wording

import (
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
)

const silence = "no answer within the time limit"

// rules replace in this order. Each has a part of the texts that it is for, which spares others the search.
var rules = []struct {
	has  string
	find expression.Lazy
	with string
}{
	// The official driver: its view of all servers, and the place in it where a connection failed.
	{"current topology", expression.New(`server selection error: .*?, current topology: \{[^\[]*Servers: \[(.*?),? ?\] \}`), "no server was found in time: $1"},
	{"Last error", expression.New(`\{ Addr: ([^,]+), Type: [^,}]+(?:, (?:Average RTT|State): [^,}]+)*, Last error: (.*?) \}`), "$2"},
	{"{ Addr:", expression.New(`\{ Addr: ([^,]+), Type: ([^,}]+)[^}]*\}`), "$1 ($2)"},
	{"occurred during", expression.New(`connection\(\) error occurred during connection handshake: `), ""},
	{"connection(", expression.New(`connection\(([^()\[\]]+)\[-?\d+\]\) (?:incomplete read of [a-z ]+|unable to [a-z ]+|[a-z ]+): `), "$1: "},
	{"unexpectedly closed", expression.New(`connection\(([^()\[\]]+)\[-?\d+\]\) socket was unexpectedly closed`), "$1: the connection was closed"},
	// The gateway of documentdb: its lines of code, and PostgreSQL's client.
	{".go:", expression.New(`\[?[a-z_0-9]+\.go:\d+\]? (?:\S+(?:\([^()]*\)\S*)+ ?|\([^()]*(?:\([^()]*\)[^()]*)*\)):? ?`), ""},
	{"failed to connect to `", expression.New("failed to connect to `[^`]*`: ?"), "failed to connect: "},
	{"ValidateConnect", expression.New(`ValidateConnect failed: read only connection`), "read-only"},
	{"dial error: ", expression.New(`(\S+) \(\S+?\): dial error: dial tcp \S+: `), "$1: "},
	{" (", expression.New(`(\d+\.\d+\.\d+\.\d+:\d+) \(\d+\.\d+\.\d+\.\d+\)`), "$1"},
	// Calls of the network.
	{"no such host", expression.New(`(?:dial tcp: )?lookup (\S+?)(?: on \S+)?: no such host`), "$1: no such host"},
	{"dial ", expression.New(`\bdial (?:tcp[46]?|unix|udp) (?:\S+->)?(\S+): (?:connect: )?`), "$1: "},
	{"->", expression.New(`\b(?:read|write) (?:tcp[46]?|unix) \S+->(\S+): (?:(?:read|write): )?`), "$1: "},
	{"connection reset", expression.New(`connection reset by peer`), "connection reset"},
	{"broken pipe", expression.New(`\b(?:write: )?broken pipe`), "the connection was closed"},
	{"use of closed", expression.New(`use of closed (?:network connection|file)`), "it was closed"},
	{"timeout", expression.New(`\bi/o timeout\b|\(Client\.Timeout exceeded while [a-z ]+\)`), silence},
	{"deadline exceeded", expression.New(`\bcontext deadline exceeded\b`), silence},
	{silence, expression.New(silence + `(?:[:( ]+` + silence + `\)?)+`), silence},
	{"context canceled", expression.New(`\bcontext cancell?ed\b`), "interrupted"},
	{"unexpected EOF", expression.New(`\bunexpected EOF\b`), "it ended too early"},
	{"EOF", expression.New(`(?m)(^|: )EOF\b`), "${1}the other side closed it"},
	{"JSON input", expression.New(`\bunexpected end of JSON input\b`), "it ends early"},
	// Calls of the system.
	{"$PATH", expression.New(`exec: "([^"]*)": executable file not found in \$PATH`), "the program $1 is not on PATH"},
	{"signal: ", expression.New(`\bsignal: killed\b`), "it was killed (SIGKILL)"},
	{": ", expression.New(`\b(?:open|openat|stat|lstat|mkdir|remove|unlinkat|readlink|read|write|fork/exec|chdir|truncate|fsync|fdatasync) ` +
		`(\S+): (no such file or directory|permission denied|not a directory|is a directory|file exists|input/output error|` +
		`no space left on device|read-only file system|too many open files)`), "$1: $2"},
}

// Of returns text with the errors in it as a person reads them. A text without such an error stays as it is.
func Of(text string) string {
	for _, r := range rules {
		if strings.Contains(text, r.has) {
			text = r.find().ReplaceAllString(text, r.with)
		}
	}
	return twice().ReplaceAllStringFunc(text, func(s string) string {
		if first, second, _ := strings.Cut(s, ": "); first+": " == second {
			return second
		}
		return s
	})
}

// twice may be an address that two callers have named.
var twice = expression.New(`\S+:\d+: \S+:\d+: `)

// left are words of errors that no text for a person has.
var left = expression.New(`context deadline exceeded|context canceled|\bi/o timeout|\bdial tcp|\bEOF\b|broken pipe|` +
	`current topology|\.go:\d+ |read tcp|write tcp|JSON input|%!|fork/exec|\$PATH: executable|connection\(\) error`)

// Left returns the first word of such an error that a text for a person still has, "" for none.
func Left(text string) string { return left().FindString(text) }
