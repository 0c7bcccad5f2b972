package main

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
)

// The longest lines that are printed, in characters. Lines of a result are longer only if a record was made up; the logs of
// servers have lines of kilobytes.
const (
	longestLine    = 64 << 10
	longestMessage = 2000
)

// outlet is the one way to standard output and standard error. Whatever a server, a record or a file says has no control
// characters behind it, no secrets of addresses, and lines of bounded length. Several goroutines may write to it.
//
// Three things go around it, by [direct]: the sequences that this program moves the cursor with, what another program prints
// or reads, and addresses that somebody asked for.
type outlet struct {
	w     io.Writer
	most  int // characters of a line
	mu    sync.Mutex
	begun int    // characters of the line that is under way
	split []byte // the beginning of a character whose end is in the next write
}

func newOutlet(w io.Writer, most int) *outlet { return &outlet{w: w, most: most} }

// direct returns what is behind an outlet.
func direct(w io.Writer) io.Writer {
	if o, ok := w.(*outlet); ok {
		return o.w
	}
	return w
}

// Write implements [io.Writer].
func (o *outlet) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := slices.Concat(o.split, b)
	whole := len(text) - splitAt(text)
	o.split = slices.Clone(text[whole:])
	var out bytes.Buffer
	for line := range strings.Lines(visible.Lines(string(text[:whole]))) {
		line, ended := strings.CutSuffix(line, "\n")
		o.add(&out, redact.InText(line))
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

// add writes a part of a line, as far as the line has room.
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

// splitAt returns how many bytes at the end are the beginning of a character.
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

// filtered is the environment with everything that is printed going through outlets.
func filtered(env *environment) *environment {
	own := *env
	own.secrets = secretsOf(env.args)
	own.stdout, own.stderr = newOutlet(env.stdout, longestLine), newOutlet(env.stderr, longestMessage)
	return &own
}
