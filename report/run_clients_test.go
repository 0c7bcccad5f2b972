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

// The table of operations has the times of clients and servers.
func TestServerTimes(t *testing.T) {
	r := &record.Run{Series: []record.Series{
		{Source: "server:db1:27017", Name: "latency.writes", Mean: 4e5},
		{Source: "server:db1:27017", Name: "opcounters.insert", Mean: 7},
		{Source: "server:db2:27017", Name: "latency.reads", Mean: 2e5},
		{Source: "server:db2:27017", Name: "latency.writes"},
		{Source: "host:db1", Name: "latency.reads", Mean: 1},
	}}
	s := operations(r, &record.PhaseResult{Classes: []record.ClassResult{{Name: "look"}}})
	var got [][3]string
	for _, row := range s.Table.Rows {
		got = append(got, [3]string{row[0], row[1], row[len(row)-1]})
	}
	want := [][3]string{{"look", "service", "-"}, {"reads of db2:27017", "server", "200 µs"}, {"writes of db1:27017", "server", "400 µs"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
