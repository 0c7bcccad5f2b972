package report

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/shellword"
	"github.com/plimsoll-bench/plimsoll/report/chart"
)

// maxExact is the longest text on a page that is useless if it is cut.
const maxExact = 64 << 10

// exact is a text to paste. It is whole or not there: something that was cut would do something else.
type exact struct {
	text   string
	length int  // bytes, also of one that is not there
	hidden bool // it has invisible characters
}

func exactly(text string) exact {
	e := exact{text: text, length: len(text)}
	if e.length > maxExact {
		e.text = ""
	}
	for line := range strings.SplitSeq(e.text, "\n") {
		e.hidden = e.hidden || chart.Plain(line) != line
	}
	if e.hidden {
		e.text = ""
	}
	return e
}

// missing says why the text is not there, "" if it is.
func (e exact) missing(file string) string {
	switch {
	case e.length == 0:
		return "The record does not have it."
	case e.hidden:
		return "It is not shown because it has invisible characters; it is in " + file + "."
	case e.text == "":
		return "It is not shown because it is long (" + figure.Bytes(int64(e.length)) + "); it is in " + file + "."
	}
	return ""
}

func exactSpec(spec any) exact {
	b, err := yaml.Marshal(spec)
	if err != nil {
		return exact{}
	}
	return exactly(strings.TrimRight(string(b), "\n"))
}

func exactCommand(args []string) exact { return exactly(shellword.Join(args)) }

// reproduceBlock is a command with its specification, to paste.
func reproduceBlock(lead, command string, spec exact, file string) Section {
	b := Section{Title: "Reproduce", Lines: []string{lead}}
	if why := spec.missing(file); why != "" {
		b.Lines = append(b.Lines, why)
		return b
	}
	b.Code = reproduce(command, spec.text)
	return b
}

// reproduce puts a specification behind a command, as text that a shell takes as it is.
func reproduce(command, spec string) *Code {
	end := "END"
	for strings.Contains(spec, end) {
		end += "D"
	}
	return &Code{Label: "Command", Text: command + " <<'" + end + "'\n" + spec + "\n" + end}
}

// block is the text under a title, with a sentence before it if there is one, or why it is not there.
func (e exact) block(title, lead, file string) Section {
	if why := e.missing(file); why != "" {
		return Section{Title: title, Lines: []string{why}}
	}
	b := Section{Title: title, Code: &Code{Label: title, Text: e.text}}
	if lead != "" {
		b.Lines = []string{lead}
	}
	return b
}

func commandBlock(title string, command exact) Section {
	return command.block(title, "The command as it was run, without credentials.", "the main file of the record")
}

// disclosure is everything that is needed to repeat and to judge a result: parts, the checksums of the record, and what
// could not be read.
func (s *Source) disclosure(parts ...Section) Section {
	sec := Section{ID: "disclosure", Title: "Disclosure", Lead: "Everything needed to repeat and to judge the result.", Parts: parts}
	if s.Sums != "" {
		sec.Parts = append(sec.Parts, Section{Title: "Checksums (SHA-256)", Code: &Code{Label: "SHA256SUMS", Text: visibleLines(s.Sums)}})
	}
	if len(s.Problems) > 0 {
		sec.Parts = append(sec.Parts, Section{Title: "What could not be read", Lines: slices.Clone(s.Problems)})
	}
	return sec
}
