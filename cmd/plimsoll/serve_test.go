package main

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/store/null"
)

// output is what a command prints, readable while it runs.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// background is a command that runs until it is interrupted.
type background struct {
	stdout, stderr output
	signals        chan os.Signal
	done           chan int
}

func inBackground(t *testing.T, args ...string) *background {
	t.Helper()
	return inBackgroundWith(t, nil, args...)
}

// inBackgroundWith runs a command whose pages are made by openPage.
func inBackgroundWith(t *testing.T, openPage func(string) (*report.Source, error), args ...string) *background {
	t.Helper()
	b := &background{signals: make(chan os.Signal, 2), done: make(chan int, 1)}
	home := t.TempDir()
	go func() {
		b.done <- mainRun(context.Background(), &environment{
			args: args, stdin: strings.NewReader(""), stdout: &b.stdout, stderr: &b.stderr,
			getenv: func(name string) string { return map[string]string{"PLIMSOLL_HOME": home}[name] },
			now:    time.Now, width: func() int { return 80 },
			signals: func() (<-chan os.Signal, func()) { return b.signals, func() {} }, openPage: openPage,
		})
	}()
	return b
}

// end interrupts it and returns its exit code.
func (b *background) end(t *testing.T) int {
	t.Helper()
	b.signals <- os.Interrupt
	select {
	case code := <-b.done:
		return code
	case <-time.After(2 * time.Minute):
		t.Fatalf("it does not end; it printed\n%s%s", b.stdout.String(), b.stderr.String())
	}
	return -1
}

// A token may end with a hyphen.
var (
	address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/(?:\?token=[\w-]{32}\s|\n)`)
	listens = regexp.MustCompile(`listening on (\S+)`)
)

// fetch asks the address that a command has printed, with its token, until the answer has a text.
func fetch(t *testing.T, printed *output, path, want string) string {
	t.Helper()
	return fetchAt(t, func() (base, token string) {
		base, token, _ = strings.Cut(strings.TrimSpace(address.FindString(printed.String())), "?token=")
		return strings.TrimSuffix(base, "/"), token
	}, path, want)
}

// fetchAt does the same at an address that is known from elsewhere, "" as long as it is not known.
func fetchAt(t *testing.T, where func() (base, token string), path, want string) string {
	t.Helper()
	body := ""
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		base, token := where()
		if base == "" {
			continue
		}
		resp := askKnown(t, base+path, token)
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if body = string(b); strings.Contains(body, want) {
			return body
		}
	}
	base, _ := where()
	t.Fatalf("%s%s never had %q; the last answer was\n%.1000s", base, path, want, body)
	return ""
}

func TestServeCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if code := inBackgroundToItsEnd(t, "run", "null:", "-q", "--workload", "c", "--duration", "100ms", "--out",
		filepath.Join(dir, "r")); code != 0 && code != exitInvalid {
		t.Fatalf("the run ended with %d", code)
	}
	b := inBackground(t, "serve", dir, "--metrics")
	if list := fetch(t, &b.stdout, "/", "workload c on null:"); !strings.Contains(list, "/record/") {
		t.Errorf("the list does not lead to the record:\n%s", list)
	}
	fetch(t, &b.stdout, "/metrics", "")
	if code := b.end(t); code != exitSuccess {
		t.Errorf("exit code %d: %s", code, b.stderr.String())
	}
}

func inBackgroundToItsEnd(t *testing.T, args ...string) int {
	t.Helper()
	b := inBackground(t, args...)
	select {
	case code := <-b.done:
		return code
	case <-time.After(2 * time.Minute):
		t.Fatalf("%v does not end: %s", args, b.stderr.String())
	}
	return -1
}

func TestWebOfARun(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "r")
	mark := "mark-" + rand.Text() // another test may serve a run like this one
	b := inBackground(t, "run", "null:", "-q", "--workload", "c", "--pace", "500", "--duration", "20m", "--out", dir, "--web", "--label", "purpose="+mark)
	for _, want := range []string{`id="state"`, "workload c on null:", mark, "Stop the run"} {
		fetch(t, &b.stderr, "/", want) // what is not known yet comes later
	}
	if code := b.end(t); code != exitInterrupted {
		t.Errorf("exit code %d: %s", code, b.stderr.String())
	}
	if at := address.FindString(b.stderr.String()); at != "" {
		if resp, err := http.Get(strings.TrimSpace(at)); err == nil { // or something else got the port
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if strings.Contains(string(body), mark) {
				t.Error("the page is still served after the end")
			}
		}
	}
}

// A page that panics, in the process that measures, ends neither the run nor its record. The target answers no
// operation before a page and a stream have panicked, so the run is under way all the time.
func TestRunOutlivesItsPage(t *testing.T) {
	t.Parallel()
	answered := make(chan struct{})
	r, err := null.Listen(null.Options{Count: 100, Fail: func(_ uint64, command string) *null.Failure {
		if command == "find" {
			<-answered
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var panics atomic.Int64
	dir := filepath.Join(t.TempDir(), "r")
	b := inBackgroundWith(t, func(string) (*report.Source, error) {
		panics.Add(1)
		panic("a record that no page was made for")
	}, "run", r.URI(), "-q", "--workload", "c", "--records", "100", "--load", "skip", "--threads", "2", "--operations", "500", "--timeout", "10m",
		"--out", dir, "--web")
	fetch(t, &b.stderr, "/", "cannot be made, because of a fault in Plimsoll") // as soon as there is a record
	of := panics.Load()
	stream := streamOf(t, &b.stderr)
	defer stream.Close()
	for panics.Load() == of { // the goroutine of the stream looks at the record once a second
		time.Sleep(10 * time.Millisecond)
	}
	close(answered)
	select {
	case code := <-b.done:
		if code != exitSuccess && code != exitInvalid { // a busy machine may make its result worthless
			t.Errorf("exit code %d: %s", code, b.stderr.String())
		}
	case <-time.After(2 * time.Minute):
		t.Fatalf("the run does not end: %s", b.stderr.String())
	}
	kept, err := record.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if p := kept.Phase("measure"); kept.Status != record.Complete || p == nil || p.Counts.Succeeded != 500 {
		t.Errorf("the record is %s, with %+v", kept.Status, p)
	}
}

// streamOf opens the stream of events of the record that a command follows.
func streamOf(t *testing.T, printed *output) io.Closer {
	t.Helper()
	at, token, _ := strings.Cut(strings.TrimSpace(address.FindString(printed.String())), "?token=")
	resp := askKnown(t, at, token)
	resp.Body.Close()
	page := resp.Request.URL.String() // that of the record, to which the address leads
	resp = askKnown(t, page+"/events", token)
	if got := resp.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/event-stream") {
		t.Fatalf("the stream at %s/events is %d %q", page, resp.StatusCode, got)
	}
	return resp.Body
}

func askKnown(t *testing.T, url, token string) *http.Response {
	t.Helper()
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func TestWebOfAStudy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	study := filepath.Join(dir, "study.yaml")
	text := "name: web\nrun:\n  target: 'null:'\n  workload: {name: c, records: 500}\n  load: {workers: 2, pace: 500, duration: 20m}\nfactors:\n  - {name: workers, path: load.workers, levels: [1, 2]}\ntrials: 3\n"
	if err := os.WriteFile(study, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	b := inBackground(t, "study", "run", study, "-q", "--out", filepath.Join(dir, "s"), "--web=127.0.0.1:0")
	for _, want := range []string{`id="state"`, "Stop the study"} {
		fetch(t, &b.stderr, "/", want)
	}
	if code := b.end(t); code != exitInterrupted {
		t.Errorf("exit code %d: %s", code, b.stderr.String())
	}
}

// Every call of serve that the page about it shows is tried, on loopback and with any port.
func TestServeCommandsOfTheDocumentation(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "serve.md"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, dir := range []string{"results", "plimsoll-data"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("token", []byte(strings.Repeat("t", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^plimsoll (serve.*)$`).FindAllStringSubmatch(string(text), -1)
	if len(lines) < 4 {
		t.Fatalf("found only %q", lines)
	}
	for _, l := range lines {
		call := regexp.MustCompile(`--listen \S+`).ReplaceAllString(l[1], "--listen "+anyPort)
		b := inBackground(t, strings.Fields(call)...)
		fetchAt(t, func() (base, token string) {
			if at := listens.FindStringSubmatch(b.stderr.String()); at != nil { // the address is that of a proxy
				return "http://" + at[1], strings.Repeat("t", 32)
			}
			return strings.TrimSuffix(strings.TrimSpace(address.FindString(b.stdout.String())), "/"), ""
		}, "/", "There is no record in this folder yet")
		if printed := b.stdout.String() + b.stderr.String(); strings.Contains(printed, "tttt") {
			t.Errorf("%s prints the user's token: %s", l[1], printed)
		}
		if code := b.end(t); code != exitSuccess {
			t.Errorf("%s: exit code %d: %s", l[1], code, b.stderr.String())
		}
	}
}
