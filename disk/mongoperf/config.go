// Package mongoperf reads the configuration of mongoperf, a part of MongoDB until 4.0, and prints mongoperf's lines
// with correct numbers. It runs the profile random of package disk.
package mongoperf

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Config has the options of mongoperf.
type Config struct {
	Threads     int   // nThreads: where the ramp ends; 1
	FileSizeMB  int64 // fileSizeMB: MiB; 1
	SleepMicros int64 // sleepMicros: of each thread after each turn, divided by the running threads; 0
	Mapped      bool  // mmf: a mapping and the page cache instead of O_DIRECT
	Read, Write bool  // r, w; at least one
	RecordKB    int64 // recSizeKB: KiB of an operation; 4
	SyncDelay   int64 // syncDelay: seconds between two syncs of the mapping; 0
	// Text is the document as mongoperf printed it, with the given values in their order.
	Text string
	// Forced probes a directory that is in memory or next to a database. No key says that.
	Forced bool
	// Unknown are keys that mongoperf ignored too.
	Unknown []string
}

// keys are the options by their names.
var keys = []string{"nThreads", "fileSizeMB", "sleepMicros", "mmf", "r", "w", "recSizeKB", "syncDelay"}

// maxInput limits the document. mongoperf read 1000 bytes.
const maxInput = 64 << 10

// Read reads one document in mongoperf's relaxed JSON: keys may have no quotes, strings may have single quotes, and
// text after the document is ignored.
func Read(r io.Reader) (Config, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return Config{}, fmt.Errorf("cannot read the configuration from standard input: %w", err)
	}
	if len(b) > maxInput {
		return Config{}, fmt.Errorf("the configuration is longer than %d bytes", maxInput)
	}
	return parse(string(b))
}

// parse reads a document.
func parse(text string) (Config, error) {
	if !utf8.ValidString(text) {
		return Config{}, errors.New("the configuration is not text in UTF-8")
	}
	p := &parser{rest: text}
	fields, err := p.document()
	if err != nil {
		return Config{}, fmt.Errorf("the configuration is not one document such as {nThreads:16,fileSizeMB:1000,r:true}: %w", err)
	}
	c := Config{Threads: 1, FileSizeMB: 1, RecordKB: 4}
	var shown []string
	for _, f := range fields {
		key := f.key
		if key == "" || bare(key) < len(key) {
			key = shownText(key)
		}
		shown = append(shown, key+": "+f.text)
		c.set(f)
	}
	c.Text = "{}"
	if len(shown) > 0 {
		c.Text = "{ " + strings.Join(shown, ", ") + " }"
	}
	return c, c.check()
}

func shownText(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// set sets one field. Numbers and booleans are converted into each other, as in mongoperf.
func (c *Config) set(f field) {
	switch f.key {
	case "nThreads":
		c.Threads = int(min(f.number, 1<<20))
	case "fileSizeMB":
		if c.FileSizeMB = f.number; c.FileSizeMB == 0 {
			c.FileSizeMB = 1
		}
	case "sleepMicros":
		c.SleepMicros = f.number
	case "mmf":
		c.Mapped = f.truth
	case "r":
		c.Read = f.truth
	case "w":
		c.Write = f.truth
	case "recSizeKB":
		if c.RecordKB = f.number; c.RecordKB == 0 {
			c.RecordKB = 4
		}
	case "syncDelay":
		c.SyncDelay = f.number
	default:
		c.Unknown = append(c.Unknown, f.key)
	}
}

func (c *Config) check() error {
	switch {
	case c.Threads < 1 || c.Threads > 4096:
		return errors.New("bad threads field value: nThreads must be 1 to 4096")
	case !c.Read && !c.Write:
		return errors.New("neither r nor w is true: add r:true or w:true")
	case c.FileSizeMB < 1 || c.FileSizeMB > 1<<40/(1<<20):
		return fmt.Errorf("fileSizeMB must be 1 to %d, but is %d", 1<<20, c.FileSizeMB)
	case c.RecordKB < 1 || c.RecordKB > 64000:
		return fmt.Errorf("recSizeKB must be 1 to 64000, but is %d", c.RecordKB)
	case c.RecordKB > c.FileSizeMB*1024:
		return fmt.Errorf("a record of %d KiB does not fit into a file of %d MiB", c.RecordKB, c.FileSizeMB)
	case c.SleepMicros < 0 || c.SleepMicros > 3600e6 || c.SyncDelay < 0 || c.SyncDelay > 86400:
		return errors.New("sleepMicros must be at most an hour and syncDelay at most a day, and neither may be negative")
	}
	return nil
}

// field is one key with its value as each type.
type field struct {
	key, text string
	number    int64
	truth     bool
}

// parser reads relaxed JSON from the start of a text.
type parser struct{ rest string }

func (p *parser) space() { p.rest = strings.TrimLeftFunc(p.rest, unicode.IsSpace) }

func (p *parser) take(c string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, c)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *parser) document() (list []field, err error) {
	if !p.take("{") {
		return nil, fmt.Errorf("%s instead of {", p.here())
	}
	if p.take("}") {
		return nil, nil
	}
	for {
		key, err := p.key()
		if err != nil {
			return nil, err
		}
		if !p.take(":") {
			return nil, fmt.Errorf("%s instead of a colon after %s", p.here(), key)
		}
		f, err := p.value()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		f.key = key
		list = append(list, f)
		switch {
		case p.take(","):
			if p.take("}") { // a comma before the end was taken too
				return list, nil
			}
		case p.take("}"):
			return list, nil
		default:
			return nil, fmt.Errorf("%s instead of a comma or } after %s", p.here(), key)
		}
	}
}

// here returns the next characters for messages.
func (p *parser) here() string {
	p.space()
	if p.rest == "" {
		return "the end"
	}
	return strconv.Quote(string([]rune(p.rest)[:1]))
}

// bare is how many bytes at the start of a text can be a key without quotes.
func bare(text string) int {
	end := strings.IndexFunc(text, func(r rune) bool {
		return r != '_' && r != '$' && (r >= unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	})
	if end < 0 {
		return len(text)
	}
	return end
}

func (p *parser) key() (string, error) {
	p.space()
	if text, ok, err := p.quoted(); ok || err != nil {
		return text, err
	}
	end := bare(p.rest)
	if end == 0 {
		return "", fmt.Errorf("%s instead of a key", p.here())
	}
	key := p.rest[:end]
	p.rest = p.rest[end:]
	return key, nil
}

// quoted reads a string in single or double quotes, if there is one.
func (p *parser) quoted() (text string, ok bool, err error) {
	if p.rest == "" || p.rest[0] != '"' && p.rest[0] != '\'' {
		return "", false, nil
	}
	quote := p.rest[0]
	var b strings.Builder
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == quote:
			p.rest = p.rest[i+1:]
			return b.String(), true, nil
		case c == '\\' && i+1 < len(p.rest) && p.rest[i+1] >= ' ':
			i++
			b.WriteByte(p.rest[i])
		case c < ' ':
			return "", false, errors.New("a text has a control character")
		default:
			b.WriteByte(c)
		}
	}
	return "", false, errors.New("a text has no end")
}

func (p *parser) value() (field, error) {
	p.space()
	if text, ok, err := p.quoted(); ok || err != nil {
		return field{text: shownText(text), truth: true}, err // a text is 0 as a number
	}
	end := strings.IndexAny(p.rest, ",} \t\r\n")
	if end < 0 {
		end = len(p.rest)
	}
	word := p.rest[:end]
	switch word {
	case "true", "false", "null", "undefined":
		p.rest = p.rest[end:]
		f := field{text: word, truth: word == "true"}
		if f.truth {
			f.number = 1
		}
		return f, nil
	}
	x, err := strconv.ParseFloat(word, 64)
	if err != nil || x != x || x > 1e15 || x < -1e15 || strings.ContainsAny(word, "xXpP_iInN") {
		return field{}, fmt.Errorf("%.40q is not a number, a string or a boolean", word)
	}
	p.rest = p.rest[end:]
	return field{text: word, number: int64(x), truth: x != 0}, nil
}
