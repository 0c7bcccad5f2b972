package persons

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/store/null"
)

// serve starts a service over a responder.
func serve(t *testing.T, o null.Options) *httptest.Server {
	t.Helper()
	r, err := null.Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return serveOver(t, r.URI(), time.Minute)
}

func serveOver(t *testing.T, uri string, timeout time.Duration) *httptest.Server {
	t.Helper()
	s, err := Open(Options{URI: uri, Database: "people", Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		server.Close()
		_ = s.Close(t.Context()) // the responder may be gone
	})
	return server
}

// ask sends a request, and returns the status and the fields of the answer.
func ask(t *testing.T, s *httptest.Server, method, path, body string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	_ = json.Unmarshal(text, &fields) // what net/http refuses itself is no JSON
	return answer.StatusCode, fields
}

func TestService(t *testing.T) {
	s := serve(t, null.Options{Count: 41})
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string // in the answer, as Go prints it
	}{
		{"POST", "/persons", `{"firstName": "Ada", "lastName": "Byron"}`, 201, "outcome:ok"},
		{"POST", "/persons", `{"_id": {"$oid": "000000000000000000000000"}, "firstName": "Ada", "lastName": "Byron"}`, 201, "id:000000000000000000000000"},
		{"POST", "/persons", `{"_id": 7, "firstName": "Ada", "lastName": "Byron"}`, 400, "no ObjectId"},
		{"POST", "/persons", `{"_id": [1], "firstName": "Ada", "lastName": "Byron"}`, 400, "no ObjectId"},
		{"POST", "/persons", `{"firstName": "Ada"}`, 400, "lastName"},
		{"POST", "/persons", `{"firstName": 1, "lastName": "Byron"}`, 400, "both of them text"},
		{"POST", "/persons", `{"firstName": `, 400, "outcome:rejected"},
		{"POST", "/persons", ``, 400, "outcome:rejected"},
		{"POST", "/persons/batch", `{"persons": [{"firstName": "Ada", "lastName": "Byron"}, {"firstName": "Mary", "lastName": "Somerville"}]}`, 201, "added:2"},
		{"POST", "/persons/batch", `{"persons": []}`, 400, "empty"},
		{"POST", "/persons/batch", `{"persons": [{"firstName": "Ada", "lastName": "Byron"}, {}]}`, 400, "person 2 of 2"},
		{"GET", "/persons/count", "", 200, "count:41"},
		{"GET", "/persons", "", 200, "totalElements:41 totalPages:3"},
		{"GET", "/persons?page=2&size=5&total=false", "", 200, "number:2 size:5"},
		{"GET", "/persons?lastName=Byron", "", 200, "_embedded"},
		{"GET", "/persons?size=0", "", 400, "from 1 to 1000"},
		{"GET", "/persons?page=-1", "", 400, "page"},
		{"GET", "/persons/what", "", 400, "24 hexadecimal"},
		{"GET", "/persons/0123456789abcdef01234567", "", 200, "_id"},
		{"GET", "/healthz", "", 200, "status:up"},
		{"DELETE", "/persons", "", 405, ""},
		{"GET", "/elsewhere", "", 404, ""},
	} {
		status, fields := ask(t, s, c.method, c.path, c.body)
		if got := fmt.Sprint(fields); status != c.status || !strings.Contains(got, c.want) {
			t.Errorf("%s %s %s: %d %s, want %d with %q", c.method, c.path, c.body, status, got, c.status, c.want)
		}
	}
	if status, _ := ask(t, s, "POST", "/persons", strings.Repeat(" ", largestBody+1)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body that is too large: %d", status)
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name   string
		f      null.Failure
		status int
		want   string
	}{
		{"duplicate", null.Failure{Form: null.WriteFailure, Code: 11000, Message: "E11000"}, 409, "conflict"},
		{"refused", null.Failure{Code: 2, Name: "BadValue", Message: "bad"}, 400, "rejected"},
		{"not primary", null.Failure{Code: 10107, Name: "NotWritablePrimary", Message: "not primary"}, 503, "not-applied"},
		{"not confirmed", null.Failure{Form: null.ConcernFailure, Code: 64, Message: "timed out", Docs: 1}, 500, "indeterminate"},
		{"connection lost", null.Failure{Form: null.DropConnection}, 500, "indeterminate"},
		{"unknown", null.Failure{Code: 4711, Message: "what"}, 500, "indeterminate"},
	} {
		s := serve(t, null.Options{Fail: func(_ uint64, command string) *null.Failure {
			if command == "insert" {
				return &c.f
			}
			return nil
		}})
		status, fields := ask(t, s, "POST", "/persons", `{"firstName": "Ada", "lastName": "Byron"}`)
		if status != c.status || fields["outcome"] != c.want || fields["error"] == "" {
			t.Errorf("%s: %d %v, want %d %s", c.name, status, fields, c.status, c.want)
		}
	}
}

// A batch of which one is refused says so, and how many were added.
func TestPartOfABatch(t *testing.T) {
	s := serve(t, null.Options{Fail: func(_ uint64, command string) *null.Failure {
		if command == "insert" {
			return &null.Failure{Form: null.WriteFailure, Code: 11000, Message: "E11000", Docs: 1}
		}
		return nil
	}})
	status, fields := ask(t, s, "POST", "/persons/batch", `{"persons": [{"firstName": "Ada", "lastName": "Byron"}, {"firstName": "Mary", "lastName": "Somerville"}]}`)
	if status != http.StatusConflict || fields["outcome"] != "partial" || fmt.Sprint(fields["added"]) != "1" {
		t.Errorf("%d %v", status, fields)
	}
}

// Without MongoDB nothing can have been added, and the service says that it is proven.
func TestWithoutMongoDB(t *testing.T) {
	r, err := null.Listen(null.Options{})
	if err != nil {
		t.Fatal(err)
	}
	uri := r.URI()
	r.Close()
	s := serveOver(t, uri, 200*time.Millisecond)
	if status, fields := ask(t, s, "POST", "/persons", `{"firstName": "Ada", "lastName": "Byron"}`); status != 503 || fields["outcome"] != "not-applied" {
		t.Errorf("%d %v", status, fields)
	}
	if status, fields := ask(t, s, "GET", "/persons", ""); status < 500 || fields["outcome"] != "failed" {
		t.Errorf("%d %v", status, fields)
	}
	if status, fields := ask(t, s, "GET", "/healthz", ""); status != 503 || fields["status"] != "down" {
		t.Errorf("%d %v", status, fields)
	}
}

func TestOpenRefuses(t *testing.T) {
	for uri, want := range map[string]string{
		"mongodb://127.0.0.1/?w=0": "w=0",
		"http://127.0.0.1/":        "cannot be used",
	} {
		if _, err := Open(Options{URI: uri, Database: "people"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if _, err := Open(Options{URI: "mongodb://127.0.0.1/"}); err == nil {
		t.Error("no database was taken")
	}
}
