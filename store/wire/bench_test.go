package wire

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/null"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// responderEnv makes the test binary a responder, so that a benchmark can count the CPU time of the
// client alone.
const responderEnv = "PLIMSOLL_WIRE_RESPONDER"

func TestMain(m *testing.M) {
	if os.Getenv(responderEnv) != "" {
		serveResponder()
		return
	}
	os.Exit(m.Run())
}

// serveResponder prints the address of a responder and serves until standard input ends.
func serveResponder() {
	r, err := null.Listen(null.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.URI())
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	_ = r.Close()
}

// otherProcess starts a responder in a process of its own and returns its address.
func otherProcess(b *testing.B) string {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), responderEnv+"=1")
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
		_ = in.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func marshal(tb testing.TB, v any) []byte {
	tb.Helper()
	b, err := bson.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func findRequest(tb testing.TB) *workload.Request {
	return &workload.Request{Verb: workload.Find, Collection: "usertable", Limit: 1,
		Filter: marshal(tb, bson.D{{Key: "_id", Value: "user6284781860667377211"}})}
}

func updateRequest(tb testing.TB) *workload.Request {
	return &workload.Request{Verb: workload.Update, Collection: "usertable", Updates: []workload.Statement{{
		Filter: marshal(tb, bson.D{{Key: "_id", Value: "user6284781860667377211"}}),
		Update: marshal(tb, bson.D{{Key: "$set", Value: bson.D{{Key: "field3", Value: make([]byte, 100)}}}}),
	}}}
}

// benchmark runs one request from 16 workers against a responder in another process and reports the CPU
// time, user and system, that this process spent on each.
func benchmark(b *testing.B, req *workload.Request) {
	const workers = 16
	s, err := Open(b.Context(), store.Config{Target: otherProcess(b), Database: "ycsb", Sessions: workers})
	if err != nil {
		b.Fatal(err)
	}
	sessions := make([]store.Session, workers)
	for i := range sessions {
		if sessions[i], err = s.Session(i); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime(b)
	var done sync.WaitGroup
	for _, session := range sessions {
		done.Go(func() { repeat(b, session, req, b.N/workers+1) })
	}
	done.Wait()
	b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/1000/float64(b.N), "cpu-µs/op")
	b.StopTimer()
	for _, session := range sessions {
		_ = session.Close()
	}
	_ = s.Close()
}

func repeat(b *testing.B, session store.Session, req *workload.Request, n int) {
	var res store.Result
	for range n {
		session.Do(time.Now().Add(10*time.Second), req, &res)
		if res.Outcome != store.OK {
			b.Errorf("%+v", res)
			return
		}
	}
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkFind(b *testing.B)   { benchmark(b, findRequest(b)) }
func BenchmarkUpdate(b *testing.B) { benchmark(b, updateRequest(b)) }

// BenchmarkBareLoop is the limit: the same request, built once, is written, and of its reply
// only the length is parsed.
func BenchmarkBareLoop(b *testing.B) {
	const workers = 16
	addr := strings.TrimSuffix(strings.TrimPrefix(otherProcess(b), "mongodb://"), "/?directConnection=true")
	conns := make([]net.Conn, workers)
	for i := range conns {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		conns[i] = c
	}
	l := &link{shape: newShape(&settings{database: "ycsb"}, &greeting{role: roleStandalone, sessions: true}, newLSID())}
	msg := l.appendFind(nil, findRequest(b), 10*time.Second)
	sealMessage(msg, 1, 0)
	b.ResetTimer()
	before := cpuTime(b)
	var done sync.WaitGroup
	for _, c := range conns {
		done.Go(func() { bareLoop(b, c, msg, b.N/workers+1) })
	}
	done.Wait()
	b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/1000/float64(b.N), "cpu-µs/op")
	b.StopTimer()
	for _, c := range conns {
		_ = c.Close()
	}
}

func bareLoop(b *testing.B, c net.Conn, msg []byte, n int) {
	buf := make([]byte, 4096)
	for range n {
		if _, err := c.Write(msg); err != nil {
			b.Error(err)
			return
		}
		for have := 0; have < 4 || have < int(binary.LittleEndian.Uint32(buf)); {
			m, err := c.Read(buf[have:])
			if err != nil {
				b.Error(err)
				return
			}
			have += m
		}
	}
}
