package observe

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
)

// MetricsEvery is the period in which values of Prometheus and of files are read. They have their own times.
const MetricsEvery = 5 * time.Second

// Late is a source whose values have their own times and come later. It is read once more when the watch is stopped.
type Late interface {
	Source
	late()
}

// lateAtMost is the time limit of that.
const lateAtMost = 5 * time.Second

// Limits of what one query or file can add.
const (
	maxLines = 20 // lines of one query
	maxReply = 8 << 20
	maxName  = 200
)

// prometheus is one query.
type prometheus struct {
	server *prometheusServer
	name   string
	query  string
	until  time.Time // the last time whose values were read, by this machine's clock
	left   bool      // more lines than maxLines are noted
	noted  bool      // the clock is noted
}

// prometheusServer is a server with the HTTP API of Prometheus.
type prometheusServer struct {
	base  *url.URL
	login string // USER:PASSWORD or a bearer token; empty for none
	http  http.Client
	clock aheadBetween
	shift time.Duration // subtracted from its times
}

// aheadBetween bounds how much another clock, shown in whole seconds, is ahead of this one.
type aheadBetween struct {
	least, most time.Duration
	known       bool
}

// add narrows the bounds by a reply. If the clock was set meanwhile, they begin anew.
func (a *aheadBetween) add(sent, received, date time.Time) {
	least, most := date.Sub(received), date.Add(time.Second).Sub(sent)
	if a.known && max(least, a.least) <= min(most, a.most) {
		least, most = max(least, a.least), min(most, a.most)
	}
	a.least, a.most, a.known = least, most, true
}

// shift is how much times of the clock are corrected: not at all unless the clock is certainly wrong.
func (a aheadBetween) shift() time.Duration {
	if a.least <= 0 && a.most >= 0 {
		return 0
	}
	return (a.least + a.most) / 2
}

// clockReplies is how many replies the offset of a clock is measured with. Their pauses are no part of a second.
const (
	clockReplies = 5
	clockPause   = 230 * time.Millisecond
)

// NewPrometheus returns the queries of a Prometheus as the sources "prometheus:NAME". It evaluates each once, so a
// wrong address or expression is an error before the load, and measures the offset of the server's clock. login is
// USER:PASSWORD or a bearer token; empty for none.
func NewPrometheus(ctx context.Context, address, login string, queries map[string]string) ([]Source, error) {
	if err := permit.Check(ctx, permit.Dial, "Prometheus"); err != nil {
		return nil, err
	}
	base, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address of Prometheus cannot be read")
	}
	server := &prometheusServer{base: base, login: login, http: http.Client{Timeout: sampleAtMost}}
	if login != "" || base.User != nil {
		server.http.CheckRedirect = sameOrigin
	}
	var list []Source
	now := time.Now()
	for _, name := range slices.Sorted(maps.Keys(queries)) {
		q := &prometheus{server: server, name: name, query: queries[name], until: now.Truncate(time.Second)}
		if _, err := q.values(ctx, now, now); err != nil {
			return nil, err
		}
		list = append(list, q)
	}
	for i := len(list); i < clockReplies && server.clock.known; i++ {
		if wait.Sleep(ctx, clockPause) != nil {
			return nil, ctx.Err()
		}
		if _, err := list[0].(*prometheus).values(ctx, now, now); err != nil {
			return nil, err
		}
	}
	server.shift = server.clock.shift()
	return list, nil
}

// sameOrigin follows redirects on the same server only. The client would send credentials to other ports and to names
// below that of the server too.
func sameOrigin(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	switch {
	case len(via) > 9:
		return errors.New("more than 9 redirects")
	case next.URL.Scheme != first.Scheme || next.URL.Host != first.Host:
		return fmt.Errorf("it redirects to %s, and credentials are sent to one server only", redact.Addresses(
			visible.Bounded(visible.Line((&url.URL{Scheme: next.URL.Scheme, Host: next.URL.Host}).String()), maxName)))
	}
	return nil
}

func (q *prometheus) Close() error { return nil }

func (q *prometheus) late() {}

// Look queries the seconds since the last time, so a failure leaves no gap if a later query succeeds.
func (q *prometheus) Look(ctx context.Context) (Reading, error) {
	var r Reading
	if !q.noted {
		q.noted = true
		r.Notes = append(r.Notes, q.server.clockNote())
	}
	from, to := q.until.Add(time.Second), time.Now().Truncate(time.Second)
	if to.Before(from) {
		return r, nil
	}
	lines, err := q.values(ctx, from, to)
	if err != nil {
		return r, err
	}
	q.until = to
	if len(lines) == 0 {
		return r, fmt.Errorf("the query %q of Prometheus has no values", q.name)
	}
	if len(lines) > maxLines && !q.left {
		q.left = true
		r.Notes = append(r.Notes, fmt.Sprintf("the query %q of Prometheus has %d lines, and the first %d are recorded; aggregate them in the query",
			q.name, len(lines), maxLines))
	}
	moments := map[time.Time]map[string]float64{}
	for _, l := range lines[:min(maxLines, len(lines))] {
		for _, p := range l.points {
			if moments[p.at] == nil {
				moments[p.at] = map[string]float64{}
			}
			moments[p.at][l.name] = p.value
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(moments), time.Time.Compare) {
		r.Others = append(r.Others, Reading{Source: "prometheus:" + q.name, Time: at.Add(-q.server.shift), Values: moments[at]})
	}
	return r, nil
}

func (s *prometheusServer) clockNote() string {
	name := "the clock of Prometheus at " + redact.Addresses(s.base.String())
	if !s.clock.known {
		return name + " is not known, because its replies have no date; its lines are not shifted"
	}
	least, most := s.clock.least, s.clock.most
	if s.shift == 0 {
		return fmt.Sprintf("%s agrees with this machine's within %s; its lines are not shifted", name, figure.Duration(max(-least, most)))
	}
	word, by := "ahead of", s.shift
	if by < 0 {
		word, by = "behind", -by
	}
	return fmt.Sprintf("%s is %s %s this machine's (± %s); its lines are shifted by that", name, figure.Duration(by), word,
		figure.Duration((most-least)/2))
}

type metricLine struct {
	name   string
	points []metricPoint
}

type metricPoint struct {
	at    time.Time
	value float64
}

// rangeReply is the answer to query_range (Prometheus documentation: "HTTP API").
type rangeReply struct {
	Status string
	Error  string
	Data   struct {
		Result []struct {
			Metric map[string]string
			Values [][2]any
		}
	}
}

// values returns the values of each second between two times of this machine's clock.
func (q *prometheus) values(ctx context.Context, from, to time.Time) ([]metricLine, error) {
	s := q.server
	seconds := func(t time.Time) string {
		return strconv.FormatFloat(float64(t.Add(s.shift).UnixMilli())/1e3, 'f', 3, 64)
	}
	at := s.base.JoinPath("api", "v1", "query_range")
	at.RawQuery = url.Values{"query": {q.query}, "start": {seconds(from)}, "end": {seconds(to)}, "step": {"1"}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, errors.New("the address of Prometheus cannot be used")
	}
	if user, password, basic := strings.Cut(s.login, ":"); basic {
		request.SetBasicAuth(user, password)
	} else if s.login != "" {
		request.Header.Set("Authorization", "Bearer "+s.login)
	}
	where := redact.Addresses(s.base.String())
	sent := time.Now()
	reply, err := s.http.Do(request)
	if err != nil {
		var wrapped *url.Error // it repeats the whole address
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return nil, fmt.Errorf("cannot query Prometheus at %s: %w. Check its address (observe.prometheus.url, --metrics)", where, err)
	}
	defer reply.Body.Close()
	if date, err := http.ParseTime(reply.Header.Get("Date")); err == nil {
		s.clock.add(sent, time.Now(), date)
	}
	body, err := io.ReadAll(io.LimitReader(reply.Body, maxReply+1))
	if err != nil {
		return nil, fmt.Errorf("the reply of Prometheus at %s was cut off: %w", where, err)
	}
	var answer rangeReply
	wrong := json.Unmarshal(body, &answer)
	switch {
	case reply.StatusCode == http.StatusUnauthorized || reply.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("access to Prometheus at %s is denied (%s). Set observe.prometheus.credentials to a file or to env:NAME, with a bearer token or USER:PASSWORD",
			where, reply.Status)
	case len(body) > maxReply:
		return nil, fmt.Errorf("the query %q of Prometheus has more than 8 MiB of values; aggregate them in the query", q.name)
	case wrong != nil || answer.Status == "":
		return nil, fmt.Errorf("%s does not reply like Prometheus (%s); check its address (observe.prometheus.url, --metrics)", where, reply.Status)
	case answer.Status != "success":
		return nil, fmt.Errorf("the query %q cannot be evaluated by Prometheus: %s", q.name, clean(answer.Error))
	}
	var lines []metricLine
	for _, x := range answer.Data.Result {
		l := metricLine{name: lineName(x.Metric)}
		for _, pair := range x.Values {
			when, ok1 := pair[0].(float64)
			text, ok2 := pair[1].(string)
			value, err := strconv.ParseFloat(text, 64)
			if ok1 && ok2 && err == nil {
				l.points = append(l.points, metricPoint{time.UnixMilli(int64(when * 1e3)), value})
			}
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// lineName names a line as Prometheus does.
func lineName(labels map[string]string) string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		if k != "__name__" {
			list = append(list, k+"="+strconv.Quote(labels[k]))
		}
	}
	name := labels["__name__"]
	if len(list) > 0 {
		name += "{" + strings.Join(list, ",") + "}"
	}
	if name == "" {
		return "value"
	}
	return clean(name)
}

// clean is text of another program, on one line and bounded.
func clean(s string) string {
	return visible.Bounded(visible.Line(s), maxName)
}

// valueFile is a CSV file that another program appends to.
type valueFile struct {
	path   string
	ahead  time.Duration
	name   string
	header []string
	read   int64 // bytes
	line   int   // lines before that
	last   time.Time
	noted  bool // the clock is noted
	wrong  bool // a wrong value is noted
}

// NewValueFile returns a CSV file, whose clock is ahead of this machine's, as the source "csv:NAME". It reads the
// header, so a wrong file is an error before the load.
func NewValueFile(file string, ahead time.Duration) (Source, error) {
	v := &valueFile{path: file, ahead: ahead, last: time.Now().Add(-time.Second),
		name: strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))}
	if _, err := v.rows(); err != nil {
		return nil, err
	}
	if v.header == nil {
		return nil, fmt.Errorf("the file %s has no header; its first line must be time,value", file)
	}
	return v, nil
}

func (v *valueFile) Close() error { return nil }

func (v *valueFile) late() {}

func (v *valueFile) Look(context.Context) (Reading, error) {
	r, err := v.rows()
	if err == nil && !v.noted {
		v.noted = true
		r.Notes = append(r.Notes, fmt.Sprintf("the clock of the file %s is taken as %s ahead of this machine's, as stated; its lines are shifted by that",
			v.path, v.ahead))
		if v.ahead == 0 {
			r.Notes = []string{fmt.Sprintf("the clock of the file %s is taken as that of this machine, because no offset is stated", v.path)}
		}
	}
	return r, err
}

// rows reads the complete lines that were appended since the last time. A file that became shorter is a new one.
func (v *valueFile) rows() (Reading, error) {
	var r Reading
	f, err := safeopen.OpenFile(v.path)
	if err != nil {
		return r, fmt.Errorf("cannot read values: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return r, fmt.Errorf("%s is not a regular file", v.path)
	}
	if info.Size() < v.read {
		v.read, v.line, v.header = 0, 0, nil
	}
	b, err := io.ReadAll(io.NewSectionReader(f, v.read, maxReply))
	if err != nil {
		return r, fmt.Errorf("cannot read values: %w", err)
	}
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	v.read += int64(len(b))
	for text := range strings.Lines(string(b)) {
		v.line++
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if err := v.row(text, &r); err != nil {
			if v.header == nil {
				return r, err
			}
			if !v.wrong {
				r.Notes = append(r.Notes, err.Error()+"; this and further wrong values are left out")
			}
			v.wrong = true
		}
	}
	return r, nil
}

// row reads the header or the values of one line. Only the first wrong value is noted.
func (v *valueFile) row(text string, r *Reading) error {
	fields, err := csv.NewReader(strings.NewReader(text)).Read()
	if err != nil {
		return fmt.Errorf("line %d of %s is not CSV", v.line, v.path)
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	if v.header == nil {
		if fields[0] != "time" || len(fields) < 2 || len(fields) > maxLines {
			return fmt.Errorf("the first line of %s is not the header time,value", v.path)
		}
		for i := range fields {
			fields[i] = clean(fields[i])
		}
		v.header = fields
		return nil
	}
	at, err := parseTime(fields[0])
	if err != nil {
		return fmt.Errorf("%s: the time %q is neither RFC 3339 nor seconds since 1970", v.path, clean(fields[0]))
	}
	if at = at.Add(-v.ahead); !at.After(v.last) {
		return nil
	}
	values := map[string]float64{}
	for i, name := range v.header[1:] {
		if i+1 >= len(fields) || fields[i+1] == "" {
			continue
		}
		x, err := strconv.ParseFloat(fields[i+1], 64)
		if err != nil {
			return fmt.Errorf("%s: %q is not a number", v.path, clean(fields[i+1]))
		}
		values[name] = x
	}
	v.last = at
	r.Others = append(r.Others, Reading{Source: "csv:" + v.name, Time: at, Values: values})
	return nil
}

// parseTime reads RFC 3339 or seconds since 1970.
func parseTime(text string) (time.Time, error) {
	if x, err := strconv.ParseFloat(text, 64); err == nil && x > 0 && x < 1e11 {
		return time.UnixMilli(int64(x * 1e3)), nil
	}
	return time.Parse(time.RFC3339, text)
}
