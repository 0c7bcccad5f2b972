package run

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// What a server used is that of its processes, and the finding names the busiest first.
func TestCoresByServer(t *testing.T) {
	began := cpuUses([]record.LabMember{{Name: "busy", PIDs: []int{os.Getpid()}}, {Name: "gone", PIDs: []int{1 << 30}},
		{Name: "none"}})
	if _, ok := began["busy"]; !ok || len(began) != 1 {
		t.Fatalf("what this process used is not known: %v", began)
	}
	for end := time.Now().Add(10 * time.Minute); coresSince(began)["busy"] == 0; {
		if time.Now().After(end) {
			t.Fatal("a minute of work is no processor time")
		}
	}
	other := began["busy"]
	other.born = map[int]uint64{os.Getpid(): 1}
	if got := coresSince(map[string]cpuUse{"restarted": other}); len(got) != 0 {
		t.Errorf("a process that began later counts: %v", got)
	}
	l := &labTarget{cores: map[string]float64{"config-1": 0.01, "router-1": 0.5, "shard1-1": 0.25}}
	if got := l.byServer(); got != " (by server: router-1 0.500; shard1-1 0.250; config-1 0.0100)" {
		t.Errorf("got %q", got)
	}
	if got := (&labTarget{}).byServer(); got != "" {
		t.Errorf("got %q", got)
	}
	if !strings.Contains((&labTarget{}).shared(2)[0].Text, "unknown") {
		t.Error("what is not known is told")
	}
}
