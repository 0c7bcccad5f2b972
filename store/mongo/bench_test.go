package mongo_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/mongo"
	"github.com/plimsoll-bench/plimsoll/store/null"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// responderRole makes the test binary a responder, so that the benchmarks can have one in a process of
// its own and count their own processor time only.
const responderRole = "PLIMSOLL_TEST_RESPONDER"

func TestMain(m *testing.M) {
	if os.Getenv(responderRole) == "" {
		os.Exit(m.Run())
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(ln.Addr())
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // ends with the parent, which holds the other end of standard input
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		cancel()
	}()
	if err := null.Serve(ctx, ln, null.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// responderProcess starts a responder in another process and returns its address as a URI.
func responderProcess(b *testing.B) string {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), responderRole+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			b.Errorf("responder: %v", err)
		}
	})
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return "mongodb://" + strings.TrimSpace(addr) + "/?directConnection=true"
}

// cpu returns the user and system time of this process.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// The figure to look at is cpu-µs/op: user and system time of the client per operation.
func BenchmarkDriver(b *testing.B) {
	uri := responderProcess(b)
	for _, c := range []struct{ workers, perClient int }{{16, 32}, {16, 4}, {64, 64}, {64, 32}, {64, 8}, {256, 256},
		{256, 32}, {256, 8}} {
		for name, req := range map[string]*workload.Request{"read": readOf(b), "update": updateOf(b, 1)} {
			b.Run(fmt.Sprintf("%s/workers=%d/per-client=%d", name, c.workers, c.perClient), func(b *testing.B) {
				drive(b, uri, c.workers, c.perClient, req)
			})
		}
	}
}

// drive spreads b.N requests over workers.
func drive(b *testing.B, uri string, workers, perClient int, req *workload.Request) {
	s, err := mongo.Open(b.Context(), store.Config{Target: uri, Database: "ycsb", Concern: store.Concern{W: "1"},
		Sessions: workers, Timeout: 10 * time.Second},
		mongo.Options{WorkersPerClient: perClient})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var done sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	before := cpu(b)
	for worker := range workers {
		session, err := s.Session(worker)
		if err != nil {
			b.Fatal(err)
		}
		n := b.N / workers
		if worker < b.N%workers {
			n++
		}
		done.Go(func() {
			var res store.Result
			for range n {
				if session.Do(time.Now().Add(10*time.Second), req, &res); res.Outcome != store.OK {
					b.Errorf("%s: %s", res.Outcome, res.Message)
					return
				}
			}
		})
	}
	done.Wait()
	b.ReportMetric(float64(cpu(b)-before)/1e3/float64(b.N), "cpu-µs/op")
}
