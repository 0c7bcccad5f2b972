// Package wording rewrites the texts of errors by Go, the kernel and drivers as a person reads them: where something
// failed and how, without the names of calls. Records keep the texts as they were; what shows them to a person rewrites
// them.
package wording

import (
	"regexp"
	"strings"
	"sync"
)

const silence = "no answer within the time limit"

// pattern compiles an expression when it is used first. Most commands show no error, and need none of them.
func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// rules replace in this order. Each has a part of the texts that it is for, which spares others the search.
var rules = []struct {
	has  string
	find func() *regexp.Regexp
	with string
}{
	// The official driver: its view of all servers, and the place in it where a connection failed.
	{"current topology", pattern(`server selection error: .*?, current topology: \{[^\[]*Servers: \[(.*?),? ?\] \}`), "no server was found in time: $1"},
	{"Last error", pattern(`\{ Addr: ([^,]+), Type: [^,}]+(?:, (?:Average RTT|State): [^,}]+)*, Last error: (.*?) \}`), "$2"},
	{"{ Addr:", pattern(`\{ Addr: ([^,]+), Type: ([^,}]+)[^}]*\}`), "$1 ($2)"},
	{"occurred during", pattern(`connection\(\) error occurred during connection handshake: `), ""},
	{"connection(", pattern(`connection\(([^()\[\]]+)\[-?\d+\]\) (?:incomplete read of [a-z ]+|unable to [a-z ]+|[a-z ]+): `), "$1: "},
	{"unexpectedly closed", pattern(`connection\(([^()\[\]]+)\[-?\d+\]\) socket was unexpectedly closed`), "$1: the connection was closed"},
	// The gateway of documentdb: its lines of code, and PostgreSQL's client.
	{".go:", pattern(`\[?[a-z_0-9]+\.go:\d+\]? (?:\S+(?:\([^()]*\)\S*)+ ?|\([^()]*(?:\([^()]*\)[^()]*)*\)):? ?`), ""},
	{"failed to connect to `", pattern("failed to connect to `[^`]*`: ?"), "failed to connect: "},
	{"ValidateConnect", pattern(`ValidateConnect failed: read only connection`), "read-only"},
	{"dial error: ", pattern(`(\S+) \(\S+?\): dial error: dial tcp \S+: `), "$1: "},
	{" (", pattern(`(\d+\.\d+\.\d+\.\d+:\d+) \(\d+\.\d+\.\d+\.\d+\)`), "$1"},
	// Calls of the network.
	{"no such host", pattern(`(?:dial tcp: )?lookup (\S+?)(?: on \S+)?: no such host`), "$1: no such host"},
	{"dial ", pattern(`\bdial (?:tcp[46]?|unix|udp) (?:\S+->)?(\S+): (?:connect: )?`), "$1: "},
	{"->", pattern(`\b(?:read|write) (?:tcp[46]?|unix) \S+->(\S+): (?:(?:read|write): )?`), "$1: "},
	{"connection reset", pattern(`connection reset by peer`), "connection reset"},
	{"broken pipe", pattern(`\b(?:write: )?broken pipe`), "the connection was closed"},
	{"use of closed", pattern(`use of closed (?:network connection|file)`), "it was closed"},
	{"timeout", pattern(`\bi/o timeout\b|\(Client\.Timeout exceeded while [a-z ]+\)`), silence},
	{"deadline exceeded", pattern(`\bcontext deadline exceeded\b`), silence},
	{silence, pattern(silence + `(?:[:( ]+` + silence + `\)?)+`), silence},
	{"context canceled", pattern(`\bcontext cancell?ed\b`), "interrupted"},
	{"unexpected EOF", pattern(`\bunexpected EOF\b`), "it ended too early"},
	{"EOF", pattern(`(?m)(^|: )EOF\b`), "${1}the other side closed it"},
	{"JSON input", pattern(`\bunexpected end of JSON input\b`), "it ends early"},
	// Calls of the system.
	{"$PATH", pattern(`exec: "([^"]*)": executable file not found in \$PATH`), "the program $1 is not on PATH"},
	{"signal: ", pattern(`\bsignal: killed\b`), "it was killed (SIGKILL)"},
	{": ", pattern(`\b(?:open|openat|stat|lstat|mkdir|remove|unlinkat|readlink|read|write|fork/exec|chdir|truncate|fsync|fdatasync) ` +
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
var twice = pattern(`\S+:\d+: \S+:\d+: `)

// left are words of errors that no text for a person has.
var left = pattern(`context deadline exceeded|context canceled|\bi/o timeout|\bdial tcp|\bEOF\b|broken pipe|` +
	`current topology|\.go:\d+ |read tcp|write tcp|JSON input|%!|fork/exec|\$PATH: executable|connection\(\) error`)

// Left returns the first word of such an error that a text for a person still has, "" for none.
func Left(text string) string { return left().FindString(text) }
