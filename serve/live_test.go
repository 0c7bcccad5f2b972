package serve

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
)

// event is one that came over a stream.
type event struct{ id, name, data string }

// listen opens a stream of events, which ends with the test.
func listen(t *testing.T, s *Server, id, last string) <-chan event {
	t.Helper()
	return listenAt(t, s, "/live/"+id+"/events", last)
}

func listenAt(t *testing.T, s *Server, path, last string) <-chan event {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", s.url(path), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Last-Event-ID", last)
	r.Header.Set("Authorization", "Bearer "+testToken)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/event-stream") {
		t.Fatalf("the stream is %d %q", resp.StatusCode, got)
	}
	ch := make(chan event)
	go func() {
		defer close(ch)
		defer resp.Body.Close()
		var e event
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data", "data:":
				e.data += value + "\n"
			case "":
				if e.name != "" {
					select {
					case ch <- e:
					case <-ctx.Done():
						return
					}
				}
				e = event{}
			}
		}
	}()
	return ch
}

// next waits for an event of a name.
func next(t *testing.T, ch <-chan event, name string) event {
	t.Helper()
	for e := range ch {
		if e.name == name {
			return e
		}
	}
	t.Fatalf("the stream ended without an event %q", name)
	return event{}
}

func TestFollowingARun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	where := filepath.Join(dir, "r")
	cmd := startRun(t, where)
	s := start(t, Options{Dir: dir})
	id := idOf("r")
	if _, list := get(t, s, "/"); !strings.Contains(list, "/live/"+id) {
		t.Errorf("the list does not show that it is running:\n%s", list)
	}
	_, page := get(t, s, "/live/"+id)
	if !strings.Contains(page, "(running)") || strings.Contains(page, "was killed") {
		t.Errorf("the page does not show that it is running:\n%.2000s", page[strings.Index(page, "<main"):])
	}
	first := listen(t, s, id, "")
	one := next(t, first, "picture")
	if now := next(t, first, "now"); !strings.Contains(now.data, "ok/s") { // startRun waited for the first interval
		t.Errorf("a late client gets %q", now.data)
	}
	for two := one; two.data == one.data; { // on a busy machine nothing new may have been measured in between
		last := two.id
		if two = next(t, first, "picture"); two.id == last {
			t.Error("the same picture is sent twice")
		}
	}
	late := next(t, listen(t, s, id, ""), "picture") // has all of the past
	if !strings.Contains(late.data, "Throughput") || !strings.Contains(late.data, `<figure id="`) {
		t.Errorf("a late client gets %.500s", late.data)
	}
	again := listen(t, s, id, late.id)
	if e := next(t, again, "picture"); e.id == late.id {
		t.Error("a client that comes back gets the picture that it has")
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	last := event{}
	for e := range again {
		if e.name == "end" {
			break
		}
		if e.name == "picture" {
			last = e
		}
	}
	if !strings.Contains(last.data, "(interrupted)") {
		t.Errorf("the last picture is not the final report: %.300s", last.data)
	}
	next(t, first, "end")
	if resp, _ := ask(t, s, "GET", "/live/"+id, nil, ""); resp.Header.Get("Location") != "/record/"+id {
		t.Errorf("after the end the live page leads to %q", resp.Header.Get("Location"))
	}
	await(t, "nothing is followed any longer", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.followers) == 0 && s.streams == 0 })
}

func TestStopping(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := startRun(t, filepath.Join(dir, "r"))
	s := start(t, Options{Dir: dir})
	id, pid := idOf("r"), cmd.Process.Pid
	press := func(header map[string]string, pid int) int {
		h := map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
		for k, v := range header {
			h[k] = v
		}
		resp, _ := ask(t, s, "POST", "/stop/"+id, h, url.Values{"pid": {strconv.Itoa(pid)}}.Encode())
		return resp.StatusCode
	}
	token := "plimsoll-" + s.url("")[strings.LastIndexByte(s.url(""), ':')+1:] + "=" + testToken
	for _, c := range []struct {
		name   string
		header map[string]string
		pid    int
		want   int
	}{
		{"without a token", nil, pid, 401},
		{"with a wrong token", map[string]string{"Authorization": "Bearer x" + testToken}, pid, 401},
		{"from elsewhere", map[string]string{"Cookie": token, "Origin": "http://evil.example"}, pid, 403},
		{"for another process", map[string]string{"Cookie": token}, os.Getpid(), 409},
	} {
		if got := press(c.header, c.pid); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if _, held := record.Holder(filepath.Join(dir, "r")); !held {
		t.Fatal("a press that was refused ended the run")
	}
	_, page := get(t, s, "/live/"+id)
	if strings.Contains(page, "<form") || !strings.Contains(page, "with the token") {
		t.Error("a button is shown to somebody who may not press it")
	}
	resp, page := ask(t, s, "GET", "/live/"+id, map[string]string{"Cookie": token}, "")
	if !strings.Contains(page, "Stop the run") || !strings.Contains(page, fmt.Sprintf(`value="%d"`, pid)) || resp.StatusCode != 200 {
		t.Errorf("no button: %d", resp.StatusCode)
	}
	if got := press(map[string]string{"Cookie": token, "Origin": s.url("")}, pid); got != 303 {
		t.Errorf("pressed: %d", got)
	}
	await(t, "the run ends", func() bool { _, held := record.Holder(filepath.Join(dir, "r")); return !held })
	r, err := record.OpenRun(filepath.Join(dir, "r"))
	if err != nil || r.Status != record.Interrupted {
		t.Errorf("the run is %v (%v)", r, err)
	}
	if got := press(map[string]string{"Cookie": token}, pid); got != 409 {
		t.Errorf("pressed when it has ended: %d", got)
	}
}

func TestASecondPressEndsAtOnce(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, filepath.Join(dir, "r"), "2026-01-01T00:00:00Z", "a", "running")
	release, err := record.Hold(filepath.Join(dir, "r")) // by this process
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	s := start(t, Options{Dir: dir})
	e, where, _ := s.library.find(idOf("r"))
	r, _ := http.NewRequest("GET", "/", nil)
	if got := s.buttons(r, e, where); len(got) != 1 || got[0].Label != "Stop the run" || got[0].Allowed {
		t.Errorf("first: %+v", got)
	}
	s.asked.add("stop", e.ID, os.Getpid())
	if got := s.buttons(r, e, where); len(got) != 1 || got[0].Label != "End at once" || got[0].Note == "" {
		t.Errorf("then: %+v", got)
	}
}

func TestATrialStopsItsStudy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	trial := filepath.Join(dir, "s", record.TrialsDir, "0001")
	writeRun(t, trial, "2026-01-01T00:00:00Z", "a", "running")
	writeFile(t, filepath.Join(dir, "s", record.StudyFile), `{"schema_version":"1.0","kind":"study","status":"running","specification":{"name":"x<y"},
		"trials":[{"number":1,"attempt":1,"status":"running","record":"trials/0001","configuration":"baseline"},{"number":2,"attempt":1,"status":"planned"}]}`)
	for _, d := range []string{trial, filepath.Join(dir, "s")} {
		release, err := record.Hold(d)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
	}
	s := start(t, Options{Dir: dir})
	e, where, ok := s.library.find(idOf("s/trials/0001"))
	r, _ := http.NewRequest("GET", "/", nil)
	if got := s.buttons(r, e, where); !ok || len(got) != 1 || got[0].Label != "Stop the study" {
		t.Errorf("the trial offers %+v", got)
	}
	now := next(t, listen(t, s, idOf("s"), ""), "now")
	if !strings.Contains(now.data, "0 of 2 trials done") || !strings.Contains(now.data, `href="/live/`+e.ID+`"`) {
		t.Errorf("the study is at %q", now.data)
	}
}

func TestMetricsAndClosing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	startRun(t, filepath.Join(dir, "r"))
	s := start(t, Options{Dir: dir, Metrics: true})
	var body string
	await(t, "metrics of the run", func() bool {
		_, body = get(t, s, "/metrics")
		return strings.Contains(body, `plimsoll_operations_total{class="read",outcome="ok",phase="measure",run="r"}`) &&
			strings.Contains(body, `plimsoll_response_seconds_bucket{class="read",run="r",le="+Inf"}`)
	})
	for _, want := range []string{`plimsoll_offered_total{phase="measure",run="r"}`, `plimsoll_dropped_total{`, `plimsoll_workers{run="r"} 2`, `plimsoll_in_flight{run="r"}`} {
		if !strings.Contains(body, want) {
			t.Errorf("the metrics lack %s:\n%s", want, body)
		}
	}
	if resp, _ := ask(t, s, "GET", "/metrics", map[string]string{"Host": "evil.example"}, ""); resp.StatusCode != 421 {
		t.Errorf("metrics under another name: %d", resp.StatusCode)
	}
	stream := listen(t, s, idOf("r"), "")
	next(t, stream, "picture")
	if err := s.Close(); err != nil { // does not wait for the client
		t.Error(err)
	}
	for range stream { // it is cut
	}
}
