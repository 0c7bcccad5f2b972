package recorded

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxEntry is the longest document and the longest line that is read, in bytes. A line of a log has at most some 10 KiB
// unless maxLogSizeKB is raised; a captured command has at most the 16 MiB of a document.
const maxEntry = 32 << 20

// entries splits a text into documents and lines. A document begins with a brace, at the begin of a line, behind
// another document or behind what a log pipeline puts before a line, and it may have several lines. Other lines are
// entries of their own. White space, and the commas and brackets of an array of documents, are skipped.
type entries struct {
	r       *bufio.Reader
	buf     []byte
	partial []byte // of a line that a container runtime has split
}

func newEntries(r io.Reader) *entries { return &entries{r: plainText(r)} }

// next returns the next entry, valid until the next call, and whether it is a document. It returns [Damaged] for one
// that is cut off or too long, and io.EOF at the end.
func (e *entries) next() (entry []byte, document bool, err error) {
	for {
		entry, document, err = e.raw()
		if err == io.EOF && len(e.partial) > 0 {
			e.partial = nil
			return nil, false, Damaged
		}
		if err != nil {
			return nil, false, err
		}
		if content, more, ok := unwrapped(entry, document); ok {
			e.partial = append(e.partial, content...)
			if more && len(e.partial) < maxEntry {
				continue
			}
			entry = bytes.TrimSpace(e.partial)
			e.partial = e.partial[:0]
			document = bytes.HasPrefix(entry, []byte("{"))
		}
		if !document {
			if i := bytes.Index(entry, []byte(`{"t":{"$date"`)); i >= 0 {
				entry, document = entry[i:], true
			}
		}
		return entry, document, nil
	}
}

// raw returns the next entry as it stands in the text.
func (e *entries) raw() (entry []byte, document bool, err error) {
	for {
		b, err := e.r.Peek(1)
		if err != nil {
			return nil, false, err
		}
		switch b[0] {
		case ' ', '\t', '\r', '\n', ',', ']':
		case '{':
			entry, err = e.document()
			return entry, true, err
		case '[':
			if two, _ := e.r.Peek(2); len(two) == 2 && !strings.ContainsRune(" \t\r\n{]", rune(two[1])) {
				entry, err = e.line()
				return entry, false, err
			}
		default:
			entry, err = e.line()
			return entry, false, err
		}
		_, _ = e.r.Discard(1)
	}
}

// line returns the rest of a line.
func (e *entries) line() ([]byte, error) {
	e.buf = e.buf[:0]
	for {
		part, err := e.r.ReadSlice('\n')
		if len(e.buf) <= maxEntry {
			e.buf = append(e.buf, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err != nil && err != io.EOF:
			return nil, err
		case len(e.buf) > maxEntry:
			e.buf = nil // do not keep the memory
			return nil, Damaged
		}
		return bytes.TrimSpace(e.buf), nil
	}
}

// document returns the text from a brace to the brace that closes it. A text in quotation marks has no line breaks, and
// the further lines of a document are indented or begin with a bracket; so one that is cut off ends with its line.
func (e *entries) document() ([]byte, error) {
	e.buf = e.buf[:0]
	depth, quote, escaped := 0, byte(0), false
	for {
		c, err := e.r.ReadByte()
		switch {
		case err == io.EOF:
			return nil, Damaged
		case err != nil:
			return nil, err
		case len(e.buf) > maxEntry:
			_, err := e.line()
			e.buf = nil
			if err != nil {
				return nil, err
			}
			return nil, Damaged
		case c == '\n' && quote != 0:
			return nil, Damaged
		case c == '\n':
			if next, _ := e.r.Peek(1); len(next) == 1 && !strings.ContainsRune(" \t\r\n}]", rune(next[0])) {
				return nil, Damaged
			}
		}
		e.buf = append(e.buf, c)
		switch {
		case escaped:
			escaped = false
		case quote != 0:
			if escaped = c == '\\'; c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return e.buf, nil
			}
		}
	}
}

// unwrapped returns the line in an entry that a container runtime or a log collector wrote: Docker's json-file, the
// files of the Container Runtime Interface, the export of journald and the message of collectors. more says that the
// line continues in the next entry.
func unwrapped(entry []byte, document bool) (content string, more, ok bool) {
	if !document {
		parts := strings.SplitN(string(entry[:min(len(entry), 80)]), " ", 4) // TIME stdout F LINE
		if len(parts) < 4 || parts[1] != "stdout" && parts[1] != "stderr" || parts[2] != "F" && parts[2] != "P" {
			return "", false, false
		}
		return string(entry[len(parts[0])+len(parts[1])+len(parts[2])+3:]), parts[2] == "P", true
	}
	if bytes.HasPrefix(entry, []byte(`{"t":`)) || !bytes.Contains(entry, []byte(`"log"`)) &&
		!bytes.Contains(entry, []byte(`"MESSAGE"`)) && !bytes.Contains(entry, []byte(`"message"`)) {
		return "", false, false
	}
	var w struct{ Log, Stream, Message *string } // the case of keys does not matter
	if json.Unmarshal(entry, &w) != nil {
		return "", false, false
	}
	switch {
	case w.Log != nil && w.Stream != nil:
		return *w.Log, !strings.HasSuffix(*w.Log, "\n"), true
	case w.Log != nil && strings.Contains(*w.Log, `{"t":`):
		return *w.Log, false, true
	case w.Message != nil && strings.Contains(*w.Message, `{"t":`):
		return *w.Message, false, true
	}
	return "", false, false
}

// plainText removes a byte-order mark, and translates UTF-16, which the PowerShell of Windows writes.
func plainText(r io.Reader) *bufio.Reader {
	in := bufio.NewReaderSize(r, 64<<10)
	mark, _ := in.Peek(3)
	switch {
	case bytes.HasPrefix(mark, []byte("\xef\xbb\xbf")):
		_, _ = in.Discard(3)
	case bytes.HasPrefix(mark, []byte("\xff\xfe")), bytes.HasPrefix(mark, []byte("\xfe\xff")):
		_, _ = in.Discard(2)
		return bufio.NewReaderSize(&utf16Reader{r: in, big: mark[0] == 0xfe}, 64<<10)
	}
	return in
}

// utf16Reader translates UTF-16 into UTF-8.
type utf16Reader struct {
	r    *bufio.Reader
	big  bool // the high byte is first
	half rune // the first half of a pair of surrogates, or 0
	out  []byte
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.out) == 0 {
		var b [2]byte
		if _, err := io.ReadFull(u.r, b[:]); err != nil {
			return 0, err
		}
		if u.big {
			b[0], b[1] = b[1], b[0]
		}
		c := rune(b[0]) | rune(b[1])<<8
		switch {
		case u.half != 0:
			c, u.half = utf16.DecodeRune(u.half, c), 0
		case utf16.IsSurrogate(c):
			u.half = c
			continue
		}
		u.out = utf8.AppendRune(u.out, c)
	}
	n := copy(p, u.out)
	u.out = u.out[:copy(u.out, u.out[n:])]
	return n, nil
}
