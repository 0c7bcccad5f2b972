package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/record"
)

// The table of agents has the machine of each. One that was lost has none.
func TestAgentsTable(t *testing.T) {
	r := &record.Run{Clients: []record.ClientShare{
		{Number: 0, Agent: "a", Host: "load1", Status: "complete", CPU: "Xeon", MemoryBytes: 8 << 30, OS: "linux", Kernel: "6.1",
			Zone: "eu", Succeeded: 10, Rate: 5, Cores: 2, CPUCores: 1, RoundTrip: 1e6, ClockOffset: 2e6, ClockUncertainty: 1e5},
		{Number: 1, Agent: "b", Host: "load2", Status: "lost", Problem: "it ended", StartSkew: 3e6},
	}}
	want := [][]string{
		{"0", "load1", "Xeon, 8.00 GiB of memory, linux 6.1", "complete", "eu", "10", "5.00", "1.00 of 2.00 cores", "1.00 ms",
			"2.00 ms ±100 µs", "0", ""},
		{"1", "load2", "", "lost", "", "0", "0", "-", "-", "0 ±0", "3.00 ms", "it ended"},
	}
	if d := cmp.Diff(want, loadClients(r).Table.Rows); d != "" {
		t.Errorf("the table of agents (-want +got):\n%s", d)
	}
}
