package nats

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/internal/childproc"
	"github.com/plimsoll-bench/plimsoll/measure"
)

// manyAgents runs agents in this process until standard input ends.
func manyAgents() {
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			o := AgentOptions{Server: Server{URL: os.Args[1], Token: os.Getenv("NATS_TEST_TOKEN")},
				Facts: fleet.Facts{Name: fmt.Sprintf("agent-%04d", i)}}
			if err := Serve(ctx, o, fleet.Agent{Dir: os.Args[3]}); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, err)
			}
		})
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	cancel()
	all.Wait()
}

// startMany starts a process with n agents.
func startMany(t testing.TB, c *Coordinator, n int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], c.Connect(), strconv.Itoa(n), t.TempDir())
	cmd.Env = append(os.Environ(), roleVariable+"=agents", "NATS_TEST_TOKEN="+c.Token())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := childproc.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // its errors are shown
	})
}

// Many agents leave the record that is the sum of theirs, bucket by bucket. BenchmarkAgents has more of them, on a
// machine that is free.
func TestManyAgents(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	startAgents(t, c.serverOf(), 30)
	asked := testSpec(30, 4*time.Second)
	asked.Load.Pace = 5
	if r := execute(t, c, asked, nil); len(r.Clients) != 30 {
		t.Errorf("%d clients", len(r.Clients))
	}
}

// What the coordinator needs for agents that send an interval each second. The agents are in another process.
func BenchmarkAgents(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			c := open(b, Options{})
			startMany(b, c, n)
			asked := testSpec(n, 12*time.Second)
			asked.Load.Pace = 5
			for b.Loop() {
				var from, to usage
				r := execute(b, c, asked, &watcher{on: map[int]func(){2: from.now, 10: to.now}})
				b.ReportMetric(float64(to.cpu-from.cpu)/float64(to.at.Sub(from.at)), "cores")
				b.ReportMetric(float64(to.peak)/(1<<20), "MiB-peak")
				var skew int64
				for _, client := range r.Clients {
					skew = max(skew, client.StartSkew)
				}
				b.ReportMetric(float64(skew)/1e6, "ms-skew")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// usage is what this process has used.
type usage struct {
	at   time.Time
	cpu  time.Duration
	peak uint64 // of its memory
}

func (u *usage) now() {
	u.at, u.cpu = time.Now(), measure.ProcessCPU()
	self, err := procfs.Self()
	if err != nil {
		return // no /proc, no figure
	}
	if status, err := self.NewStatus(); err == nil {
		u.peak = status.VmHWM
	}
}
