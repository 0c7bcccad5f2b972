package report

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/shellword"
	"github.com/plimsoll-bench/plimsoll/record"
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

func commandBlock(command exact) Section {
	b := Section{Title: "Exact command"}
	if why := command.missing(record.RunFile + " or " + record.StudyFile); why != "" {
		b.Lines = []string{why}
		return b
	}
	b.Lines = []string{"The command as it was run, without credentials."}
	b.Code = &Code{Label: "Exact command", Text: command.text}
	return b
}
