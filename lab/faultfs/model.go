package faultfs

import "container/list"

// instant is a time in nanoseconds since the disk was opened. The model never reads a clock, so tests can compare it
// with hand calculations.
type instant = int64

const second = int64(1e9)

// timing returns when a request that arrives at a time is done. Its methods are called under a lock, in the order of
// arrival.
type timing interface {
	read(now instant, off, n int64) instant
	write(now instant, off, n int64) instant
	flush(now instant) instant
}

// newTiming returns the model of a disk; nil if it has none.
func newTiming(d Device, c *Cache) timing {
	if c != nil && c.Size > 0 {
		return &tier{front: newStation(c.Device), back: newStation(d), dirty: buffer{capacity: c.Size},
			held: newLines(c.Size)}
	}
	if !d.modelled() {
		return nil
	}
	return newStation(d)
}

// station is one device: slots for parallel requests, one channel for reads and one for writes, each with a rate, and a
// write cache.
type station struct {
	d        Device
	slots    []instant // when each is free
	reading  instant   // when the channel is free
	writing  instant
	flushing instant
	end      int64  // end of the last request on the medium
	cache    buffer // used if d.Volatile is not 0
}

func newStation(d Device) *station {
	return &station{d: d, slots: make([]instant, d.Parallel), end: -1, cache: buffer{capacity: d.Volatile}}
}

// latency is the time of a request without its transfer. It also notes the end of the request.
func (s *station) latency(write bool, off, n int64) int64 {
	follows := off == s.end
	s.end = off + n
	switch {
	case follows && s.d.SequentialLatency > 0:
		return int64(s.d.SequentialLatency)
	case write:
		return int64(s.d.WriteLatency)
	}
	return int64(s.d.ReadLatency)
}

func transfer(n, rate int64) int64 {
	if rate <= 0 {
		return 0
	}
	return n/rate*second + n%rate*second/rate
}

// serve returns when a request has passed a slot and a channel.
func (s *station) serve(now instant, latency, bytes int64, channel *instant) instant {
	start, slot := now, -1
	for i, free := range s.slots {
		if slot < 0 || free < s.slots[slot] {
			slot = i
		}
	}
	if slot >= 0 {
		start = max(start, s.slots[slot])
	}
	*channel = max(start, *channel) + bytes
	done := *channel + latency
	if slot >= 0 {
		s.slots[slot] = done
	}
	return done
}

// occupies is how long a request delays the other work of the device.
func (s *station) occupies(latency, bytes int64) int64 {
	if s.d.Parallel == 0 {
		return bytes
	}
	return max(bytes, (latency+bytes)/int64(s.d.Parallel))
}

func (s *station) read(now instant, off, n int64) instant {
	latency, bytes := s.latency(false, off, n), transfer(n, s.d.ReadRate)
	s.cache.delay(now, s.occupies(latency, bytes)) // reads have priority over destaging
	return s.serve(now, latency, bytes, &s.reading)
}

func (s *station) write(now instant, off, n int64) instant {
	latency, bytes := s.latency(true, off, n), transfer(n, s.d.WriteRate)
	if s.d.Volatile == 0 {
		return s.serve(now, latency, bytes, &s.writing)
	}
	// A write to the cache needs no positioning. A later flush, or a write to the full cache, waits for the medium.
	taken := s.cache.accept(now, n, s.occupies(latency, bytes))
	if s.d.SequentialLatency > 0 {
		return taken + int64(s.d.SequentialLatency)
	}
	return taken + int64(s.d.WriteLatency)
}

// flush is done when the cache is on the medium. A protected device does not wait for that. Devices serve one flush at
// a time.
func (s *station) flush(now instant) instant {
	start := max(now, s.flushing)
	if !s.d.Protected {
		start = max(start, s.cache.free)
	}
	s.flushing = start + int64(s.d.FlushLatency)
	return s.flushing
}

// tier is a disk with a cache in front. The cache survives a power failure, so a flush is a flush of the cache alone.
type tier struct {
	front, back *station
	dirty       buffer // data in front that are not yet on the back
	held        *lines
}

func (t *tier) read(now instant, off, n int64) instant {
	if t.held.has(off, n) {
		return t.front.read(now, off, n)
	}
	t.held.add(off, n)
	latency, bytes := t.back.latency(false, off, n), transfer(n, t.back.d.ReadRate)
	t.dirty.delay(now, t.back.occupies(latency, bytes))
	return t.back.serve(now, latency, bytes, &t.back.reading)
}

func (t *tier) write(now instant, off, n int64) instant {
	t.held.add(off, n)
	latency, bytes := t.back.latency(true, off, n), transfer(n, t.back.d.WriteRate)
	return t.front.write(t.dirty.accept(now, n, t.back.occupies(latency, bytes)), off, n)
}

func (t *tier) flush(now instant) instant { return t.front.flush(now) }

// buffer accepts bytes at once and destages them one after the other.
type buffer struct {
	capacity int64   // bytes
	free     instant // when all its bytes are destaged
	work     int64   // total time to destage all bytes that it ever accepted
	held     int64   // bytes in queue
	queue    []parcel
}

// parcel has bytes that are destaged when the buffer has worked for a total time.
type parcel struct{ work, bytes int64 }

// removeDestaged removes the parcels that are destaged by now.
func (b *buffer) removeDestaged(now instant) {
	done := b.work - max(0, b.free-now)
	for len(b.queue) > 0 && b.queue[0].work <= done {
		b.held -= b.queue[0].bytes
		b.queue = b.queue[1:]
	}
}

// accept adds n bytes that take some time to destage, and returns when the buffer had space for them.
func (b *buffer) accept(now instant, n, cost int64) instant {
	b.removeDestaged(now)
	taken, over := now, b.held+n-b.capacity
	for _, p := range b.queue {
		if over <= 0 {
			break
		}
		over -= p.bytes
		taken = max(now, b.free-(b.work-p.work))
	}
	b.free = max(b.free, now) + cost
	b.work += cost
	b.held += n
	// Small parcels are merged, so that the queue of a cache of a terabyte stays short.
	if last := len(b.queue) - 1; last >= 0 && b.queue[last].bytes+n <= b.capacity/1024 {
		b.queue[last] = parcel{b.work, b.queue[last].bytes + n}
	} else {
		b.queue = append(b.queue, parcel{b.work, n})
	}
	return taken
}

// delay delays destaging.
func (b *buffer) delay(now instant, by int64) {
	if b.free > now {
		b.free += by
	}
}

// lineSize is the unit of the cache tier, in bytes.
const lineSize = 64 << 10

// lines is the LRU list of the cached parts of a disk.
type lines struct {
	most  int64
	order *list.List // of line numbers, the most recently used first
	at    map[int64]*list.Element
}

func newLines(size int64) *lines {
	return &lines{most: max(1, size/lineSize), order: list.New(), at: map[int64]*list.Element{}}
}

// has says whether n bytes at off are cached, and marks their lines as used.
func (l *lines) has(off, n int64) bool {
	all := true
	for i := off / lineSize; i <= (off+max(n, 1)-1)/lineSize; i++ {
		e, ok := l.at[i]
		if ok {
			l.order.MoveToFront(e)
		}
		all = all && ok
	}
	return all
}

func (l *lines) add(off, n int64) {
	for i := off / lineSize; i <= (off+max(n, 1)-1)/lineSize; i++ {
		if e, ok := l.at[i]; ok {
			l.order.MoveToFront(e)
			continue
		}
		l.at[i] = l.order.PushFront(i)
		if int64(len(l.at)) > l.most {
			delete(l.at, l.order.Remove(l.order.Back()).(int64))
		}
	}
}
