package observe

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// answers replies like the HTTP API of Prometheus, with a clock that is ahead: one line per label set, a pair
// of time and text per step.
func answers(t *testing.T, ahead time.Duration) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
		if user, password, _ := r.BasicAuth(); user+password != "usecret" && r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		q := r.URL.Query()
		if r.URL.Path != "/api/v1/query_range" || strings.Contains(q.Get("query"), "rate(") {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"status":"error","errorType":"bad_data","error":"invalid parameter \"query\": 1:6: parse error: unclosed left parenthesis"}`)
			return
		}
		from, _ := strconv.ParseFloat(q.Get("start"), 64)
		to, _ := strconv.ParseFloat(q.Get("end"), 64)
		var points []string
		for at := from; at <= to; at++ {
			points = append(points, fmt.Sprintf(`[%.3f,"%d"]`, at, len(points)))
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"node_load1","instance":"array:9100"},"values":[%s]}]}}`,
			strings.Join(points, ","))
	}))
	t.Cleanup(s.Close)
	return s
}

// The lines of a query stand on this machine's clock, every second once, and the offset of the other clock is stated.
func TestPrometheus(t *testing.T) {
	began := time.Now()
	list, err := NewPrometheus(t.Context(), answers(t, time.Hour).URL, "u:secret", map[string]string{"array": "node_load1"})
	if err != nil {
		t.Fatal(err)
	}
	q := list[0].(*prometheus)
	if off := q.server.shift - time.Hour; off.Abs() > time.Second+time.Since(began) {
		t.Errorf("the clock is %v ahead", q.server.shift)
	}
	q.until = q.until.Add(-3 * time.Second)
	first := q.until
	r, err := q.Look(t.Context())
	if err != nil || len(r.Others) < 3 || len(r.Notes) != 1 ||
		!strings.Contains(r.Notes[0], "1h0m0s ahead of") && !strings.Contains(r.Notes[0], "ahead of this machine's (±") ||
		strings.Contains(r.Notes[0], "secret") {
		t.Fatalf("%+v, %v", r, err)
	}
	for i, x := range r.Others {
		want := first.Add(time.Duration(i+1) * time.Second)
		if x.Source != "prometheus:array" || x.Values[`node_load1{instance="array:9100"}`] != float64(i) || x.Time.Sub(want).Abs() > 2*time.Millisecond {
			t.Errorf("value %d: %+v, want it at %v", i, x, want)
		}
	}
	r, err = q.Look(t.Context())
	if err != nil || len(r.Others) > 2+int(time.Since(began).Seconds()) || len(r.Notes) != 0 {
		t.Errorf("again: %+v, %v", r, err)
	}
}

// A bearer token is sent as one. A wrong one is denied.
func TestPrometheusWithToken(t *testing.T) {
	address := answers(t, 0).URL
	if _, err := NewPrometheus(t.Context(), address, "secret", map[string]string{"q": "up"}); err != nil {
		t.Error(err)
	}
	_, err := NewPrometheus(t.Context(), address, "wrong", map[string]string{"q": "up"})
	if err == nil || !strings.Contains(err.Error(), "observe.prometheus.credentials") || strings.Contains(err.Error(), "wrong") {
		t.Errorf("%v", err)
	}
}

// What cannot be queried is one sentence, without the password.
func TestPrometheusThatFails(t *testing.T) {
	good := strings.TrimPrefix(answers(t, 0).URL, "http://")
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }))
	defer page.Close()
	for _, c := range [][3]string{
		{"http://u:secret@" + good, "rate(x", `the query "q" cannot be evaluated by Prometheus: invalid parameter`},
		{"http://u:wrong@" + good, "up", "is denied"},
		{"http://u:secret@127.0.0.1:1", "up", "connection refused"},
		{strings.Replace(page.URL, "http://", "http://u:secret@", 1), "up", "does not reply like Prometheus"},
	} {
		_, err := NewPrometheus(t.Context(), c[0], "", map[string]string{"q": c[1]})
		if err == nil || !strings.Contains(err.Error(), c[2]) || strings.Contains(err.Error(), "secret") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", c[2], err)
		}
	}
}

// Credentials are sent to the server of the address only. Redirects on it, and redirects without credentials, are
// followed.
func TestPrometheusRedirects(t *testing.T) {
	target := answers(t, 0)
	var got []string // authorizations that the other server saw
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		target.Config.Handler.ServeHTTP(w, r)
	}))
	defer other.Close()
	var to string
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/here/api/v1/query_range" {
			http.Redirect(w, r, "/api/v1/query_range?"+r.URL.RawQuery, http.StatusFound)
		} else if to != "" {
			http.Redirect(w, r, to+r.URL.RequestURI(), http.StatusTemporaryRedirect)
		} else {
			target.Config.Handler.ServeHTTP(w, r)
		}
	}))
	defer first.Close()
	query := func(address, login string) error {
		_, err := NewPrometheus(t.Context(), address, login, map[string]string{"q": "up"})
		return err
	}
	if err := query(first.URL+"/here", "secret"); err != nil {
		t.Errorf("on the same server: %v", err)
	}
	to = other.URL
	for _, c := range [][2]string{{first.URL, "secret"}, {first.URL, "u:secret"},
		{strings.Replace(first.URL, "http://", "http://u:secret@", 1), ""}} {
		err := query(c[0], c[1])
		if err == nil || !strings.Contains(err.Error(), "redirects to "+other.URL) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s with %s: %v", c[0], c[1], err)
		}
	}
	if len(got) > 0 {
		t.Errorf("the other server got %q", got)
	}
	if err := query(first.URL, ""); err == nil || !strings.Contains(err.Error(), "denied") || len(got) != 1 || got[0] != "" {
		t.Errorf("without credentials: %v, %q", err, got)
	}
}

// The bounds of an offset narrow with replies at other parts of a second, and begin anew when the clock is set.
func TestOffsetOfAClock(t *testing.T) {
	var a aheadBetween
	at := func(part, ahead time.Duration) {
		now := testNow.Add(part)
		a.add(now, now.Add(10*time.Millisecond), now.Add(ahead).Truncate(time.Second))
	}
	for part := time.Duration(0); part < time.Second; part += clockPause {
		at(part, 300*time.Millisecond)
	}
	if a.least > 300*time.Millisecond || a.most < 300*time.Millisecond || a.most-a.least > 300*time.Millisecond ||
		a.shift() != (a.least+a.most)/2 {
		t.Errorf("%+v", a)
	}
	if at(0, -time.Hour); a.most > -time.Hour+2*time.Second {
		t.Errorf("after the clock was set: %+v", a)
	}
	if at(0, 0); a.shift() != 0 {
		t.Errorf("a clock that may be right is corrected by %v", a.shift())
	}
}

// A file is read as it grows, on this machine's clock; what is wrong in it is said once.
func TestValueFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "array.csv")
	write := func(text string) {
		t.Helper()
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now().Truncate(time.Second)
	stamp := func(seconds int) string {
		return now.Add(time.Duration(seconds)*time.Second + 2*time.Second).UTC().Format(time.RFC3339)
	}
	write("time,busy,queue\n" + stamp(-60) + ",1,1\n")
	s, err := NewValueFile(file, 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	write(stamp(10) + ",0.5,3\n" + stamp(11) + ",0.6,\n" + stamp(12) + ",x,\nyesterday,1,1\n" + stamp(13) + ",0.")
	r, err := s.Look(t.Context())
	if err != nil || len(r.Others) != 2 || r.Others[0].Source != "csv:array" || !r.Others[0].Time.Equal(now.Add(10*time.Second)) ||
		r.Others[0].Values["queue"] != 3 || len(r.Others[1].Values) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if notes := strings.Join(r.Notes, "|"); len(r.Notes) != 2 || !strings.Contains(notes, `"x" is not a number`) ||
		!strings.Contains(notes, "2s ahead") {
		t.Errorf("notes %q", r.Notes)
	}
	write("7,\n")
	if r, err := s.Look(t.Context()); err != nil || len(r.Others) != 1 || r.Others[0].Values["busy"] != 0.7 {
		t.Errorf("the rest of a line: %+v, %v", r, err)
	}
	for text, want := range map[string]string{"": "has no header", "1,2\n": "is not the header time,value", "time\n": "is not the header"} {
		other := filepath.Join(t.TempDir(), "x.csv")
		if err := os.WriteFile(other, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := NewValueFile(other, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := NewValueFile(file+".gone", 0); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("a missing file: %v", err)
	}
}
