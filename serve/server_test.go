package serve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/browsertest"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/html"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// runVariable makes this test program a load process of its own, which can be stopped like any other.
const runVariable = "PLIMSOLL_SERVE_TEST_RUN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(runVariable); dir != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		asked := spec.Run{Target: "null:", Workload: spec.Workload{Name: "a", Records: 1000}}
		asked.Load.Workers, asked.Load.Rate, asked.Load.Duration = 2, 400, spec.Duration(20*time.Minute)
		asked.Defaults()
		if _, err := run.Execute(ctx, asked, run.Options{Dir: dir, Tool: record.Tool{Name: "plimsoll"}}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(browsertest.Main(m))
}

// limit is how long anything may take on a machine that is busy with other things.
const limit = 10 * time.Minute

// await polls for a condition.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, limit)
		}
	}
}

// startRun starts a run that goes on until it is stopped, and waits until something of it is measured.
func startRun(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), runVariable+"="+dir)
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended already, if all is well
		_ = cmd.Wait()
		if stderr.Len() > 0 {
			t.Logf("the run said: %s", stderr.String())
		}
	})
	await(t, "the run measures", func() bool {
		_, held := record.Holder(dir)
		n := 0
		_, err := record.EachLine(dir, func(*record.IntervalLine) error { n++; return nil })
		return held && err == nil && n > 0
	})
	return cmd
}

// start serves a folder.
func start(t *testing.T, o Options) *Server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return startAt(t, ln, o)
}

func startAt(t *testing.T, ln net.Listener, o Options) *Server {
	t.Helper()
	if o.Token == "" {
		o.Token = testToken
	}
	s, err := New(ln, o)
	if err != nil {
		t.Fatal(err)
	}
	// Under the race detector a picture can take seconds, and the page of a suite minutes.
	s.pages.rest, s.http.WriteTimeout = 0, 10*time.Minute
	done := make(chan error, 1)
	go func() { done <- s.Serve() }()
	t.Cleanup(func() {
		_ = s.Close() // a second time does nothing
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *Server) url(path string) string { return "http://" + s.ln.Addr().String() + path }

// ask sends a request and returns the answer without following redirections.
func ask(t *testing.T, s *Server, method, path string, header map[string]string, body string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, s.url(path), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		if k == "Host" {
			r.Host = v
			continue
		}
		r.Header.Set(k, v)
	}
	c := &http.Client{Timeout: limit, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

func get(t *testing.T, s *Server, path string) (int, string) {
	t.Helper()
	resp, body := ask(t, s, "GET", path, nil, "")
	return resp.StatusCode, body
}

// getKnown is get by a client that knows the token.
func getKnown(t *testing.T, s *Server, path string) (int, string) {
	t.Helper()
	resp, body := ask(t, s, "GET", path, known(s), "")
	return resp.StatusCode, body
}

// made writes a record with known content.
func made(t *testing.T, dir string, o recordtest.Run) {
	t.Helper()
	if o.Seconds == 0 {
		o = recordtest.Run{Warmup: 2, Seconds: 8, Rate: 300, Open: true, Median: time.Millisecond, Seed: o.Seed, Name: o.Name}
	}
	if _, err := o.Write(dir); err != nil {
		t.Fatal(err)
	}
}

func TestEveryAddressIsGuarded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made(t, filepath.Join(dir, "r"), recordtest.Run{})
	s := start(t, Options{Dir: dir, Metrics: true})
	id := idOf("r")
	for _, path := range []string{"/", "/record/" + id, "/report/" + id, "/live/" + id, "/live/" + id + "/events", "/compare?r=x&r=y", "/metrics", "/nothing", "/stop/" + id, "//record/" + id, "/record/../record/" + id} {
		for name, c := range map[string]struct {
			header map[string]string
			want   int
		}{
			"a name bound anew": {map[string]string{"Host": "evil.example"}, 421},
			"a foreign origin":  {map[string]string{"Origin": "http://evil.example"}, 403},
			"a foreign script":  {map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}, 403},
		} {
			resp, body := ask(t, s, "GET", path, c.header, "")
			if resp.StatusCode != c.want || strings.Contains(body, "workload") || strings.Contains(body, testToken) {
				t.Errorf("%s of %s: %d %q, want %d and nothing", name, path, resp.StatusCode, body, c.want)
			}
			if resp.Header.Get("Access-Control-Allow-Origin") != "" || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s of %s: headers %v", name, path, resp.Header)
			}
		}
		for _, method := range []string{"PUT", "DELETE", "OPTIONS", "POST"} {
			if resp, _ := ask(t, s, method, path, nil, ""); resp.StatusCode < 400 {
				t.Errorf("%s %s: %d", method, path, resp.StatusCode)
			}
		}
	}
}

func TestPagesOfAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made(t, filepath.Join(dir, "one"), recordtest.Run{Seed: 1, Name: "a.example"})
	made(t, filepath.Join(dir, "two"), recordtest.Run{Seed: 2, Name: "b.example"})
	s := start(t, Options{Dir: dir, Tool: record.Tool{Name: "plimsoll", Version: "1"}})
	if _, body := get(t, s, "/"); !strings.Contains(body, "a.example") || !strings.Contains(body, "b.example") {
		t.Errorf("the list lacks a record:\n%s", body)
	}
	if _, body := get(t, s, "/?q=A.EXAMPLE"); strings.Contains(body, "/record/"+idOf("two")) || !strings.Contains(body, "1 of 2 records") {
		t.Errorf("the search found:\n%s", body)
	}
	for path, want := range map[string]int{
		"/record/" + idOf("one"): 200, "/record/nothing": 404, "/record/..%2f..%2fetc%2fpasswd": 404, "/record/%2e%2e/one": 404, "/record/one": 404,
		"/compare?r=" + idOf("one"): 400, "/compare?r=" + idOf("one") + "&r=nothing": 404, "/compare?r=" + idOf("one") + "&r=" + idOf("two"): 200,
		"/compare?" + strings.Repeat("r=x&", maxCompared+1): 400, "/live/" + idOf("one"): 303, "/metrics": 404, "/serve.go": 404,
	} {
		if got, body := get(t, s, path); got != want {
			t.Errorf("%s: %d, want %d\n%.300s", path, got, want, body)
		}
	}
	resp, body := ask(t, s, "GET", "/compare?r="+idOf("one")+"&r="+idOf("two"), nil, "")
	if !strings.Contains(body, "Report of 2 records") || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("compared: %v %.500s", resp.Header, body)
	}
	judging := start(t, Options{Dir: dir, Compare: twice})
	if _, body := get(t, judging, "/compare?r="+idOf("one")+"&r="+idOf("two")); !strings.Contains(body, "Comparison of two with one") || !strings.Contains(body, "Percentile spectra, overlaid") {
		t.Errorf("judged: %.500s", body)
	}
}

// twice is a comparer to whom everything is twice as fast as the first side.
func twice(sides []report.Side) (*record.ComparisonReport, error) {
	c := &record.ComparisonReport{Head: record.Head{Kind: record.KindComparison}}
	low, ratio, high := 1.9, 2.0, 2.1
	for i, s := range sides {
		c.Sides = append(c.Sides, record.ComparisonSide{Name: s.Name, N: 5, Records: []string{s.Dir},
			Values: map[string][]float64{"throughput": {100, 101}}})
		if i > 0 {
			c.Comparisons = append(c.Comparisons, record.Comparison{Configuration: s.Name, Baseline: sides[0].Name,
				Metric: "throughput", Unit: "1/s", Higher: true,
				N: 5, NBase: 5, Ratio: &ratio, Low: &low, High: &high, Verdict: record.Better, Margin: 0.03})
		}
	}
	return c, nil
}

// What a page shows is the report, and the file is the same byte by byte.
func TestARecordIsShownAsItsReport(t *testing.T) {
	dir := t.TempDir()
	made(t, filepath.Join(dir, "r"), recordtest.Run{Seed: 3})
	tool := record.Tool{Name: "plimsoll", Version: "1"}
	s := start(t, Options{Dir: dir, Tool: tool})
	source, err := report.Open(filepath.Join(dir, "r"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := report.NewPage([]*report.Source{source}, report.PageOptions{Tool: tool})
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := html.WritePage(&want, p); err != nil {
		t.Fatal(err)
	}
	resp, file := ask(t, s, "GET", "/report/"+idOf("r"), nil, "")
	if file != want.String() {
		t.Error("the file is not the report")
	}
	if got := resp.Header.Get("Content-Disposition"); got != `attachment; filename="r.html"` {
		t.Errorf("the file is offered as %q", got)
	}
	body, err := html.Content(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, page := get(t, s, "/record/"+idOf("r")); !strings.Contains(page, string(body)) || len(body) < 5000 {
		t.Error("the page does not have the report in it")
	}
}

func TestHostileNamesDoNoHarm(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := `</main><script>alert(1)</script><img src=x onerror=alert(2)>"'` + "\u2028\x00"
	folder := `<b>"x"&'`
	made(t, filepath.Join(dir, folder), recordtest.Run{Name: name + strings.Repeat("y", 1<<20)})
	s := start(t, Options{Dir: dir})
	for _, path := range []string{"/", "/record/" + idOf(folder), "/?q=" + "%3Cscript%3Ealert(3)%3C/script%3E", "/report/" + idOf(folder)} {
		status, body := get(t, s, path)
		if status != 200 || strings.Contains(body, "<script>alert") || strings.Contains(body, "<img src=x") ||
			strings.Contains(body, `<b>"x"`) || len(body) > 5<<20 {
			t.Errorf("%s: status %d, %d bytes: a name got through", path, status, len(body))
		}
	}
	resp, _ := ask(t, s, "GET", "/report/"+idOf(folder), nil, "")
	if got := resp.Header.Get("Content-Disposition"); strings.ContainsAny(strings.TrimPrefix(got, `attachment; filename="`), "<&'") {
		t.Errorf("the file is offered as %q", got)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, Options{Dir: dir})
	if resp, _ := ask(t, s, "GET", "/", map[string]string{"X-Long": strings.Repeat("x", 1<<20)},
		""); resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("long headers: %d", resp.StatusCode)
	}
	cookie := map[string]string{"Cookie": s.guard.cookieName() + "=" + testToken, "Content-Type": "application/x-www-form-urlencoded"}
	if resp, _ := ask(t, s, "POST", "/stop/x", cookie, strings.Repeat("x", 1<<20)); resp.StatusCode < 400 {
		t.Errorf("a long body: %d", resp.StatusCode)
	}
}

func TestALoneRecordMayComeLater(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	s := start(t, Options{Dir: dir, Alone: true})
	if status, body := get(t, s, "/"); status != 200 || !strings.Contains(body, "does not exist yet") {
		t.Errorf("before it exists: %d %.300s", status, body)
	}
	made(t, dir, recordtest.Run{})
	resp, _ := ask(t, s, "GET", "/", nil, "")
	if got := resp.Header.Get("Location"); got != "/record/"+idOf(".") {
		t.Errorf("it leads to %q", got)
	}
	if status, body := get(t, s, resp.Header.Get("Location")); status != 200 || !strings.Contains(body, "workload a") {
		t.Errorf("the record: %d %.300s", status, body)
	}
}
