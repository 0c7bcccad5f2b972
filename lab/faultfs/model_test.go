package faultfs

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

const ms = int64(time.Millisecond)

// An arm serves one request after the other; what follows the last one needs no positioning.
func TestModelOfAnArm(t *testing.T) {
	s := newTiming(Device{ReadLatency: 10 * time.Millisecond, SequentialLatency: time.Millisecond, ReadRate: 1 << 20,
		Parallel: 1}, nil)
	for i, c := range []struct {
		now, off, n int64
		want        instant
	}{
		{0, 0, 1 << 20, 1000*ms + 10*ms},                  // a second of transfer
		{0, 1 << 20, 1 << 20, 1010*ms + 1001*ms},          // waits for the arm, and follows
		{5000 * ms, 0, 0, 5010 * ms},                      // the arm is free
		{5000 * ms, 0, 0, 5011 * ms},                      // where the last one ended
		{5000 * ms, 777, 512, 5021*ms + 512*second>>20},   // somewhere else
		{9000 * ms, 1289, 512, 9001*ms + 512*second>>20},  // behind it
		{9999 * ms, 1800, 0, 10009 * ms},                  // one byte too early is somewhere else
		{9999 * ms, 1 << 40, 1 << 20, 10009*ms + 1010*ms}, // far away
	} {
		if got := s.read(c.now, c.off, c.n); got != c.want {
			t.Errorf("request %d is done at %v, want %v", i, time.Duration(got), time.Duration(c.want))
		}
	}
}

// Requests at once overlap their latencies but share the rate.
func TestModelOfParallelRequests(t *testing.T) {
	s := newTiming(Device{ReadLatency: time.Millisecond, Parallel: 4}, nil)
	for i := range int64(12) {
		if got, want := s.read(0, i<<20, 4096), (i/4+1)*ms; got != want {
			t.Errorf("request %d is done at %v, want %v", i, time.Duration(got), time.Duration(want))
		}
	}
	s = newTiming(Device{WriteLatency: time.Millisecond, WriteRate: 1000, Parallel: 4}, nil)
	for i := range int64(4) {
		if got, want := s.write(0, i<<20, 1000), (i+1)*second+ms; got != want {
			t.Errorf("write %d is done at %v, want %v", i, time.Duration(got), time.Duration(want))
		}
	}
	free := newTiming(Device{WriteLatency: time.Millisecond}, nil)
	for i := range int64(100) {
		if got := free.write(7, i<<20, 1<<20); got != 7+ms {
			t.Errorf("a device without limits is done at %v", time.Duration(got))
		}
	}
}

// A cache takes writes at once until it is full; a flush waits for the medium.
func TestModelOfAVolatileCache(t *testing.T) {
	d := Device{WriteLatency: 10 * time.Millisecond, SequentialLatency: time.Millisecond,
		FlushLatency: 2 * time.Millisecond, Parallel: 1, Volatile: 3 * 4096}
	s := newTiming(d, nil)
	for i := range int64(3) {
		if got := s.write(0, i<<20, 4096); got != ms {
			t.Errorf("cached write %d is done at %v", i, time.Duration(got))
		}
	}
	if got := s.write(0, 9<<20, 4096); got != 10*ms+ms { // the first one leaves after 10 ms
		t.Errorf("a write into the full cache is done at %v", time.Duration(got))
	}
	if got := s.flush(0); got != 42*ms {
		t.Errorf("the flush is done at %v, want 42 ms: four writes and its own time", time.Duration(got))
	}
	if got := s.flush(0); got != 44*ms {
		t.Errorf("the second flush is done at %v, want 44 ms: one at a time", time.Duration(got))
	}
	if got := s.flush(second); got != second+2*ms {
		t.Errorf("a flush of nothing is done at %v", time.Duration(got))
	}
	d.Protected = true
	p := newTiming(d, nil)
	p.write(0, 0, 4096)
	if got := p.flush(0); got != 2*ms {
		t.Errorf("a protected device flushes in %v", time.Duration(got))
	}
}

// A read goes before what is being destaged, and delays it.
func TestModelReadsGoFirst(t *testing.T) {
	s := newTiming(Device{ReadLatency: 5 * time.Millisecond, WriteLatency: 10 * time.Millisecond, Parallel: 1,
		Volatile: 1 << 20}, nil)
	s.write(0, 0, 4096)
	if got := s.read(0, 1<<20, 4096); got != 5*ms {
		t.Errorf("the read is done at %v", time.Duration(got))
	}
	if got := s.flush(0); got != 15*ms {
		t.Errorf("the flush is done at %v, want 15 ms", time.Duration(got))
	}
}

// A tier is as fast as its cache for what the cache holds and as slow as its disk for the rest.
func TestModelOfATier(t *testing.T) {
	fast := Device{ReadLatency: time.Microsecond, WriteLatency: 2 * time.Microsecond}
	slow := Device{ReadLatency: 10 * time.Millisecond, WriteLatency: 20 * time.Millisecond, Parallel: 1}
	s := newTiming(slow, &Cache{Device: fast, Size: 2 * lineSize})
	now := int64(0)
	read := func(line int64, want time.Duration) {
		t.Helper()
		now += second
		if got := s.read(now, line*lineSize, 4096) - now; got != int64(want) {
			t.Errorf("line %d is read in %v, want %v", line, time.Duration(got), want)
		}
	}
	read(0, 10*time.Millisecond)
	read(0, time.Microsecond)
	read(1, 10*time.Millisecond)
	read(0, time.Microsecond)
	read(2, 10*time.Millisecond) // line 1 was used longest ago
	read(0, time.Microsecond)
	read(1, 10*time.Millisecond)
	now += second
	if got := s.write(now, 5*lineSize, 4096) - now; got != 2000 {
		t.Errorf("a write is done in %v", time.Duration(got))
	}
	read(5, time.Microsecond)
	now += second
	for range 2 { // two cache sizes at once: the second one waits for the disk
		s.write(now, 9*lineSize, 2*lineSize)
	}
	if got := s.write(now, 20*lineSize, lineSize) - now; got < 20*ms {
		t.Errorf("a full cache takes a write in %v", time.Duration(got))
	}
}

// Whatever is asked in whatever order, no request is done before its own latency, and rate and parallelism hold over
// the whole.
func TestModelHoldsItsLimits(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		d := Device{
			ReadLatency: time.Duration(r.Int64N(5 * ms)), WriteLatency: time.Duration(r.Int64N(5 * ms)),
			FlushLatency: time.Duration(r.Int64N(5 * ms)),
			ReadRate:     r.Int64N(1 << 30), WriteRate: 1 + r.Int64N(1<<30), Parallel: r.IntN(5),
			Volatile: r.Int64N(3) * r.Int64N(1<<20),
		}
		s := newTiming(d, nil)
		now, written, flushed, reads, last := int64(0), int64(0), int64(0), int64(0), int64(0)
		for range 300 {
			now += r.Int64N(ms)
			n := r.Int64N(1 << 20)
			switch r.IntN(5) {
			case 0:
				last = s.flush(now)
				flushed++
				if last < now+int64(d.FlushLatency) || last < transfer(written, d.WriteRate)*99/100 && d.Volatile > 0 {
					t.Fatalf("%+v: a flush at %d is done at %d after %d bytes", d, now, last, written)
				}
			case 1, 2:
				if done := s.write(now, r.Int64(), n); done < now+int64(d.WriteLatency) {
					t.Fatalf("%+v: a write at %d is done at %d", d, now, done)
				}
				written += n
			default:
				reads++
				done := s.read(now, r.Int64N(1<<40), n)
				if done < now+int64(d.ReadLatency)+transfer(n, d.ReadRate) ||
					d.Parallel > 0 && done < reads*int64(d.ReadLatency)/int64(d.Parallel) {
					t.Fatalf("%+v: a read at %d is done at %d", d, now, done)
				}
			}
		}
	}
}

func TestClasses(t *testing.T) {
	for _, c := range Classes() {
		d, err := Class(c.Name)
		if err != nil || d != c.Device || d.Class != c.Name {
			t.Errorf("%s: %+v, %v", c.Name, d, err)
		}
		if err := checkDevice(d, nil); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		if d.ReadLatency == 0 || d.WriteLatency == 0 || d.Parallel == 0 || c.About == "" || len(c.Source) < 50 {
			t.Errorf("%s is incomplete: %+v", c.Name, c)
		}
		if d.Volatile > 0 && d.Protected {
			t.Errorf("%s has a cache that is volatile and protected", c.Name)
		}
	}
	if _, err := Class("nvme-pl"); err == nil || !strings.Contains(err.Error(), "did you mean nvme-plp?") {
		t.Errorf("%v", err)
	}
}
