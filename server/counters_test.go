package server

import (
	"testing"
	"time"
)

func TestCounters(t *testing.T) {
	a := &answers{replies: map[string]string{
		"serverStatus": `{"uptimeMillis": 1500, "metrics": {"commands": {"compact": {"total": 5, "failed": 2}}}}`}}
	if n, err := QueryCalls(t.Context(), a, "compact"); n != 3 || err != nil {
		t.Errorf("%v calls, %v", n, err)
	}
	if _, err := QueryCalls(t.Context(), a, "none"); err == nil {
		t.Error("a command that is not counted has calls")
	}
	if up, err := QueryUptime(t.Context(), a); up != 1500*time.Millisecond || err != nil {
		t.Errorf("it has been running for %v, %v", up, err)
	}
}
