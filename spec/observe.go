package spec

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/redact"
)

// Observe says what a run records of things beside the load, in addition to what it always records.
type Observe struct {
	// Prometheus is a server whose values become lines on the timeline.
	Prometheus *Prometheus `json:"prometheus,omitempty" yaml:"prometheus,omitempty"`
	// CSV are files with values that another program appends to during the run.
	CSV []ValueFile `json:"csv,omitempty" yaml:"csv,omitempty"`
	// SkipDiagnosticData leaves the diagnostic data of a lab's servers out of the record.
	SkipDiagnosticData bool `json:"skip_diagnostic_data,omitempty" yaml:"skip_diagnostic_data,omitempty"`
}

// Prometheus is a server with the HTTP API of Prometheus, and what to query there.
type Prometheus struct {
	// URL is its address, for example http://prometheus:9090. User and password can be in it.
	URL string `json:"url,omitempty" yaml:"url,omitempty"`
	// Credentials are env:NAME for an environment variable, or a file that only its owner can read. It contains a bearer
	// token, or USER:PASSWORD.
	Credentials string `json:"credentials,omitempty" yaml:"credentials,omitempty"`
	// Queries are PromQL expressions by the names of their lines.
	Queries map[string]string `json:"queries,omitempty" yaml:"queries,omitempty"`
}

// ValueFile is a CSV file with a header. Its first column is the time, each further column is a line on the timeline.
type ValueFile struct {
	File string `json:"file,omitempty" yaml:"file,omitempty"`
	// Offset is how much the clock of the file is ahead of this machine's, for example 2s or -500ms.
	Offset string `json:"offset,omitempty" yaml:"offset,omitempty"`
}

// Ahead returns the offset of the clock of the file.
func (f ValueFile) Ahead() (time.Duration, error) {
	if f.Offset == "" {
		return 0, nil
	}
	text, behind := strings.CutPrefix(f.Offset, "-")
	d, err := ParseDuration(text)
	if behind {
		d = -d
	}
	return time.Duration(d), err
}

// mostObserved is how many queries, and files, a run can have.
const mostObserved = 20

func (o *Observe) validate() error {
	if o == nil {
		return nil
	}
	errs := []error{o.Prometheus.validate()}
	if len(o.CSV) > mostObserved {
		errs = append(errs, fmt.Errorf("observe.csv: %d files are too many; the limit is %d", len(o.CSV), mostObserved))
	}
	for _, f := range o.CSV {
		if f.File == "" {
			errs = append(errs, errors.New("observe.csv: a file has no name; write file: NAME"))
		} else if err := directory("observe.csv", f.File); err != nil {
			errs = append(errs, fmt.Errorf("observe.csv: it needs a file, not an address (%s)", redact.Addresses(f.File)))
		}
		if _, err := f.Ahead(); err != nil {
			errs = append(errs, fmt.Errorf("observe.csv: offset of %s: %w", f.File, err))
		}
	}
	return errors.Join(errs...)
}

func (p *Prometheus) validate() error {
	if p == nil {
		return nil
	}
	u, err := url.Parse(p.URL)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return errors.New("observe.prometheus.url: it is not the address of a Prometheus; write it like http://HOST:9090")
	case p.Credentials != "" && u.User != nil:
		return errors.New("observe.prometheus.credentials: its address has a user already. Remove one of them")
	case len(p.Queries) == 0:
		return errors.New("observe.prometheus.queries: there is no query; write NAME: EXPRESSION")
	case len(p.Queries) > mostObserved:
		return fmt.Errorf("observe.prometheus.queries: %d queries are too many; the limit is %d", len(p.Queries), mostObserved)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Queries)) {
		if name == "" || strings.TrimSpace(p.Queries[name]) == "" {
			return fmt.Errorf("observe.prometheus.queries: the query %q has no name or no expression", name)
		}
	}
	return nil
}

// AddMetrics adds prom:URL?query=EXPRESSION, prom:URL?credentials=env:NAME&query=EXPRESSION or csv:FILE?offset=TIME,
// the forms of a command line. The expression is not encoded, and is its own name.
func (o *Observe) AddMetrics(text string) error {
	if rest, ok := strings.CutPrefix(text, "prom:"); ok {
		address, rest, _ := strings.Cut(rest, "?")
		credentials := ""
		if given, after, ok := strings.Cut(rest, "&query="); ok && strings.HasPrefix(given, "credentials=") {
			credentials, rest = strings.TrimPrefix(given, "credentials="), "query="+after
		}
		expression, found := strings.CutPrefix(rest, "query=")
		if !found {
			return errors.New("it has no query: write prom:URL?query=EXPRESSION, or prom:URL?credentials=env:NAME&query=EXPRESSION")
		}
		if u, err := url.Parse(address); err == nil && u.User != nil {
			return errors.New("its address has a user, and other users of this machine can read command lines. Set an environment variable to " +
				"USER:PASSWORD, and write prom:URL?credentials=env:NAME&query=EXPRESSION")
		}
		if o.Prometheus == nil {
			o.Prometheus = &Prometheus{URL: address, Credentials: credentials, Queries: map[string]string{}}
		}
		if o.Prometheus.URL != address || o.Prometheus.Credentials != credentials {
			return errors.New("a run queries one Prometheus: give all queries with the same address and the same credentials")
		}
		o.Prometheus.Queries[expression] = expression
		return o.Prometheus.validate()
	}
	if rest, ok := strings.CutPrefix(text, "csv:"); ok {
		file, offset, _ := strings.Cut(rest, "?offset=")
		o.CSV = append(o.CSV, ValueFile{File: file, Offset: offset})
		return o.validate()
	}
	return errors.New("it begins neither with prom: nor with csv:; write prom:URL?query=EXPRESSION or csv:FILE")
}
