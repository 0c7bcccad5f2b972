package loop

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// run runs tasks on one loop to their end.
func run(t *testing.T, tasks ...func(*Task)) {
	t.Helper()
	l := begin(t, tasks...)
	l.Run()
}

func begin(t *testing.T, tasks ...func(*Task)) *Loop {
	t.Helper()
	l, err := New(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range tasks {
		l.Go(f)
	}
	return l
}

func TestTasksWaitForTheirMoments(t *testing.T) {
	var order []int
	at := func(i int, moments ...time.Duration) func(*Task) {
		return func(k *Task) {
			for _, m := range moments {
				if k.Park(int64(m)) {
					t.Errorf("task %d was woken, and nobody did that", i)
				}
				if now := k.loop.Load().now(); now < int64(m) {
					t.Errorf("task %d went on at %v, before %v", i, time.Duration(now), m)
				}
				order = append(order, i)
			}
		}
	}
	ms := time.Millisecond
	run(t, at(0, 30*ms, 90*ms), at(1, 10*ms, 70*ms), at(2, 50*ms), at(3, 0))
	if want := []int{3, 1, 0, 2, 1, 0}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

func TestWakeEndsAPark(t *testing.T) {
	var parked, woken int
	l := begin(t)
	var sleeper *Task
	early := make(chan struct{})
	sleeper = l.Go(func(k *Task) {
		k.Offload(func() { <-early }) // the wake comes before the park
		for range 2 {
			parked++
			if k.Park(Never) {
				woken++
			}
		}
	})
	sleeper.Wake()
	go func() {
		close(early)
		time.Sleep(20 * time.Millisecond)
		sleeper.Wake()
	}()
	l.Run()
	if parked != 2 || woken != 2 {
		t.Errorf("parked %d times, woken %d times", parked, woken)
	}
	sleeper.Wake() // all tasks have ended
}

func TestOffloadLetsOthersRun(t *testing.T) {
	release := make(chan struct{})
	run(t, func(k *Task) {
		k.Offload(func() { <-release })
	}, func(k *Task) {
		k.Park(int64(time.Millisecond))
		close(release)
	})
}

func TestYieldIsFair(t *testing.T) {
	var turns []int
	busy := func(i int) func(*Task) {
		return func(k *Task) {
			for range 3 {
				if k.Waited() {
					t.Error("it did not wait")
				}
				turns = append(turns, i)
				k.Yield()
				if !k.Waited() {
					t.Error("it waited")
				}
			}
		}
	}
	run(t, busy(0), busy(1))
	if want := []int{0, 1, 0, 1, 0, 1}; !slices.Equal(turns, want) {
		t.Errorf("turns %v, want %v", turns, want)
	}
}

// TestFirstTasksNeedNotWaitForTheLast: with very many tasks, those that can continue run before all others are started.
func TestFirstTasksNeedNotWaitForTheLast(t *testing.T) {
	const tasks = 1000
	started, seen := 0, 0
	list := []func(*Task){func(k *Task) {
		started++
		k.Yield()
		seen = started
	}}
	for len(list) < tasks {
		list = append(list, func(*Task) { started++ })
	}
	run(t, list...)
	if started != tasks || seen == 0 || seen == tasks {
		t.Errorf("%d of %d tasks had been started when the first one went on", seen, started)
	}
}

// pair is a TCP connection over loopback.
func pair(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if ours, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if theirs, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = theirs.Close() })
	return ours, theirs
}

// adopted is a task with a connection.
func adopted(t *testing.T, nc net.Conn, f func(*Task, *Conn)) func(*Task) {
	return func(k *Task) {
		c, err := k.Adopt(nc)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		f(k, c)
	}
}

// TestConnectionsCarryAllBytes sends far more than the buffers of sockets hold, on some connections at the same time,
// to servers that send it back in their own time.
func TestConnectionsCarryAllBytes(t *testing.T) {
	data := make([]byte, 8<<20)
	_, _ = rand.Read(data)
	var tasks []func(*Task)
	for range 5 {
		ours, theirs := pair(t)
		go func() {
			all := make([]byte, len(data))
			if _, err := io.ReadFull(theirs, all); err != nil {
				t.Error(err)
			}
			_, _ = theirs.Write(all)
			_ = theirs.Close()
		}()
		tasks = append(tasks, adopted(t, ours, func(_ *Task, c *Conn) {
			if n, err := c.Write(data); n != len(data) || err != nil {
				t.Errorf("wrote %d bytes: %v", n, err)
			}
			back, err := io.ReadAll(c)
			if err != nil || !bytes.Equal(back, data) {
				t.Errorf("%d bytes came back: %v", len(back), err)
			}
		}))
	}
	run(t, tasks...)
}

func TestDeadlines(t *testing.T) {
	ours, theirs := pair(t)
	run(t, adopted(t, ours, func(k *Task, c *Conn) {
		for range 2 {
			began := k.loop.Load().now()
			_ = c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
			if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%d bytes, %v", n, err)
			}
			if waited := k.loop.Load().now() - began; waited < int64(9*time.Millisecond) {
				t.Errorf("waited for %v only", time.Duration(waited))
			}
		}
		_ = c.SetDeadline(time.Time{})
		go func() {
			time.Sleep(10 * time.Millisecond)
			_, _ = theirs.Write([]byte("x"))
		}()
		if n, err := c.Read(make([]byte, 8)); n != 1 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		_ = c.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
		if n, err := c.Write(make([]byte, 64<<20)); n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("wrote %d bytes to somebody who does not read, %v", n, err)
		}
	}))
}

// TestEndOfConnections: an end that came together with the last bytes, or before a wait, is not missed.
func TestEndOfConnections(t *testing.T) {
	for name, after := range map[string]time.Duration{"before the read": 20 * time.Millisecond, "while it waits": 0} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := pair(t)
			ended := make(chan struct{})
			run(t, adopted(t, ours, func(k *Task, c *Conn) {
				go func() {
					_, _ = theirs.Write([]byte("last"))
					_ = theirs.Close()
					close(ended)
				}()
				if after > 0 {
					k.Offload(func() { <-ended })
					k.Park(k.loop.Load().now() + int64(after))
				}
				if all, err := io.ReadAll(c); string(all) != "last" || err != nil {
					t.Errorf("read %q, %v", all, err)
				}
				if n, err := c.TryRead(make([]byte, 1)); n != 0 || err != io.EOF {
					t.Errorf("%d bytes after the end, %v", n, err)
				}
			}))
		})
	}
	ours, theirs := pair(t)
	_ = theirs.(*net.TCPConn).SetLinger(0)
	run(t, adopted(t, ours, func(_ *Task, c *Conn) {
		go theirs.Close()
		if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%d bytes of a connection that was reset, %v", n, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("reading a closed connection: %v", err)
		}
		if _, err := c.Write(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("writing to a closed connection: %v", err)
		}
	}))
}

func TestAdoptRefusesWhatHasNoDescriptor(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	defer ours.Close()
	run(t, func(k *Task) {
		if _, err := k.Adopt(ours); err == nil {
			t.Error("a pipe in memory was adopted")
		}
	})
}

// TestNothingIsLeftOpen: the files of a loop are closed at its end, and a task may be woken all the time.
func TestNothingIsLeftOpen(t *testing.T) {
	before := files(t)
	var group sync.WaitGroup
	for range 20 {
		l := begin(t)
		stop := make(chan struct{})
		for range 50 {
			k := l.Go(func(k *Task) { k.Park(int64(5 * time.Millisecond)) })
			group.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						k.Wake()
					}
				}
			})
		}
		l.Run()
		close(stop)
		group.Wait()
	}
	if after := files(t); after > before {
		t.Errorf("%d files were open before, %d after", before, after)
	}
}

func files(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestArrivalIsBeforeTheTask: a task that comes late to its connection knows when the data arrived.
func TestArrivalIsBeforeTheTask(t *testing.T) {
	ours, theirs := pair(t)
	written, busy := make(chan time.Time, 1), 20*time.Millisecond
	run(t, adopted(t, ours, func(k *Task, c *Conn) {
		for tries := 0; c.Arrived().IsZero() && tries < 1000; tries++ { // the kernel begins to stamp soon
			k.Offload(func() { time.Sleep(time.Millisecond); _, _ = theirs.Write([]byte("x")) })
			_, _ = c.Read(make([]byte, 1))
		}
		k.Offload(func() {
			if _, err := theirs.Write([]byte("reply")); err != nil {
				t.Error(err)
			}
			written <- time.Now()
		})
		k.Park(k.loop.Load().now() + int64(busy))
		late := time.Now()
		if n, err := c.Read(make([]byte, 8)); n != 5 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		if at, sent := c.Arrived(), <-written; at.IsZero() || !at.Before(late) && !at.Before(sent.Add(busy)) {
			t.Errorf("it arrived %v after it was written, and the task read it %v after that", at.Sub(sent), late.Sub(sent))
		}
	}))
}

// TestUseCountsTurns: what a task does between two waits is a turn.
func TestUseCountsTurns(t *testing.T) {
	const work = 30 * time.Millisecond
	l := begin(t, func(k *Task) {
		k.Park(k.loop.Load().now() + int64(time.Millisecond))
		for began := time.Now(); time.Since(began) < work; {
		}
		k.Park(k.loop.Load().now() + int64(time.Millisecond))
	})
	began := time.Now()
	l.Run()
	u := l.Use()
	if passed := time.Since(began); u.Busy < work || u.Busy > passed {
		t.Errorf("busy for %v of %v, at least %v were work", u.Busy, passed, work)
	}
	if longest := u.Turns.Quantile(1); longest < work {
		t.Errorf("the longest turn was %v, one had %v of work", longest, work)
	}
}

func TestTurnsHaveTheirBuckets(t *testing.T) {
	last := int64(0)
	for i := range len(Turns{}) - 1 {
		end := int64(turnEnd(i))
		if end > last+1 && (bucketOf(end-1) != i || bucketOf(end) != i+1) {
			t.Errorf("bucket %d ends at %d, whose bucket is %d after %d", i, end, bucketOf(end), bucketOf(end-1))
		}
		last = end
	}
	var turns Turns
	if turns.Quantile(0.99) != 0 {
		t.Error("no turns have a length")
	}
	turns[bucketOf(1000)], turns[bucketOf(9000)] = 98, 2
	if p50, p99 := turns.Quantile(0.5), turns.Quantile(0.99); p50 < 1000 || p50 > 1500 || p99 < 9000 || p99 > 13500 {
		t.Errorf("p50 %v, p99 %v", p50, p99)
	}
}

// Tasks that move to another loop lose neither data nor wakes nor timers, and one that ends without moving is not
// waited for.
func TestTasksMove(t *testing.T) {
	const tasks, rounds = 40, 300
	l := begin(t)
	base := l.base
	var list []*Task
	var moved atomic.Int64
	for i := range tasks {
		ours, theirs := pair(t)
		go func() { // an echo
			_, _ = io.Copy(theirs, theirs)
			theirs.Close()
		}()
		k := l.Go(func(k *Task) {
			c, err := k.Adopt(ours)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for n := range rounds {
				if k.Invited() {
					if at := k.loop.Load(); !k.Move() || k.loop.Load() == at {
						t.Error("it did not move")
					}
					moved.Add(1)
				}
				text := fmt.Sprintf("task %d round %d", i, n)
				if _, err := c.Write([]byte(text)); err != nil {
					t.Error(err)
					return
				}
				got := make([]byte, len(text))
				if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
					t.Error(err)
				}
				if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
					t.Errorf("it read %q for %q, %v", got, text, err)
					return
				}
				switch {
				case n%50 == i%50: // a wake from another thread, which may come while the task moves
					go k.Wake()
					k.Park(Never)
				case n%10 == 0:
					k.Park(k.loop.Load().now() + int64(100*time.Microsecond))
				case n%7 == 0:
					k.Offload(func() {})
				}
			}
		})
		list = append(list, k)
	}
	short := l.Go(func(*Task) {}) // ends before it could move
	var done sync.WaitGroup
	for _, l := range []*Loop{l, another(t, base, append(list[tasks/2:], short)), another(t, base, list[:tasks/4])} {
		done.Go(l.Run)
	}
	done.Wait()
	if moved.Load() != tasks/2+tasks/4 {
		t.Errorf("%d tasks moved", moved.Load())
	}
	for _, k := range list {
		k.Wake() // all have ended
	}
}

// another makes a loop that invites tasks.
func another(t *testing.T, base time.Time, tasks []*Task) *Loop {
	t.Helper()
	l, err := New(base)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range tasks {
		if !l.Invite(k) {
			t.Error("it could not be invited")
		}
	}
	return l
}
