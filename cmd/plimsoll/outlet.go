package main

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/internal/shellword"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
	"github.com/plimsoll-bench/plimsoll/internal/wording"
)

// The longest printed lines, in characters. Logs of servers have lines of kilobytes; longer lines of a result come from
// manipulated records.
const (
	maxLine    = 64 << 10
	maxMessage = 2000
)

// outlet is the way to standard output and standard error. It removes control characters and secrets of addresses from
// everything that servers, records and files contain, and bounds the length of lines. That of standard error rewrites
// errors of Go. It is safe for concurrent use.
//
// [direct] bypasses it for cursor sequences, the output of other programs, and addresses that the user requests.
type outlet struct {
	w      io.Writer
	most   int                 // characters of a line
	reword func(string) string // of messages: errors as a person reads them
	screen screen
	// command is the command line without credentials, to be repeated with other flags.
	command string
	mu      sync.Mutex
	begun   int    // characters of the current line
	split   []byte // first bytes of an incomplete character
}

func newOutlet(w io.Writer, most int) *outlet {
	return &outlet{w: w, most: most, reword: func(s string) string { return s }}
}

// direct returns the writer behind an outlet.
func direct(w io.Writer) io.Writer {
	if o, ok := w.(*outlet); ok {
		return o.w
	}
	return w
}

func (o *outlet) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := slices.Concat(o.split, b)
	whole := len(text) - splitAt(text)
	o.split = slices.Clone(text[whole:])
	var out bytes.Buffer
	for line := range strings.Lines(visible.Lines(string(text[:whole]))) {
		line, ended := strings.CutSuffix(line, "\n")
		o.add(&out, o.reword(redact.InText(line)))
		if ended {
			out.WriteByte('\n')
			o.begun = 0
		}
	}
	if _, err := o.w.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(b), nil
}

// add writes a part of a line, up to the limit of the line.
func (o *outlet) add(out *bytes.Buffer, part string) {
	room := max(0, o.most-o.begun)
	length := utf8.RuneCountInString(part)
	if length > room && o.begun <= o.most {
		part = visible.Bounded(part, room)
	} else if length > room {
		part = ""
	}
	o.begun += length
	out.WriteString(part)
}

// splitAt returns the number of bytes at the end that are an incomplete character.
func splitAt(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// filtered returns the environment with outlets as standard output and standard error.
func filtered(env *environment) *environment {
	own := *env
	own.secrets = secretsOf(env.args)
	out := newOutlet(env.stdout, maxLine)
	if env.columns != nil {
		out.screen = screen{columns: env.columns()}
		out.screen.colour = out.screen.columns > 0 && env.getenv("NO_COLOR") == "" && env.getenv("TERM") != "dumb"
	}
	out.screen.command = shellword.Join(append(commandLine(env), "--verbose"))
	messages := newOutlet(env.stderr, maxMessage)
	messages.reword = wording.Of
	out.command = shellword.Join(commandLine(env))
	messages.command = out.command
	own.stdout, own.stderr = out, messages
	return &own
}
