package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/store/null"
)

// The service of a run is a process of its own whose secrets nobody sees in the list of processes, and which takes no
// request without its token.
func TestServiceOfARunIsClosedToOthers(t *testing.T) {
	t.Parallel()
	r, err := null.Listen(null.Options{Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const token = "token-of-this-test"
	s, err := startService(permit.With(t.Context(), permit.All),
		run.ServiceBrief{URI: r.URI(), Database: "people", Timeout: time.Minute, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	defer s.End() //nolint:errcheck // it is not what is tested
	for _, file := range []string{"cmdline", "environ"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", s.PID, file))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), token) || strings.Contains(string(b), r.URI()) {
			t.Errorf("its %s has a secret: %q", file, b)
		}
	}
	for sent, want := range map[string]int{"": 401, "Bearer wrong": 401, "Bearer " + token: 200} {
		req, err := http.NewRequest("GET", s.URL+"persons/count", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", sent)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("with %q it answers %d, want %d", sent, resp.StatusCode, want)
		}
	}
}
