package faultfs

import "container/list"

// instant is a moment in nanoseconds since the program started. The model computes with moments and never looks at a
// clock, so it can be held against hand calculation.
type instant = int64

const second = int64(1e9)

// timing says when a request that arrives at a moment is done. Calls are made under a lock, in the order of arrival.
type timing interface {
	read(now instant, off, n int64) instant
	write(now instant, off, n int64) instant
	flush(now instant) instant
}

// newTiming returns the model of a disk, nil for one without.
func newTiming(d Device, c *Cache) timing {
	if c != nil && c.Size > 0 {
		return &tier{front: newStation(c.Device), back: newStation(d), dirty: buffer{capacity: c.Size}, held: newLines(c.Size)}
	}
	if !d.modelled() {
		return nil
	}
	return newStation(d)
}

// station is one device: slots for what it can do at once, one channel for reads and one for writes, each with a
// rate, and a buffer that takes writes before the medium does.
type station struct {
	d        Device
	slots    []instant // each is busy until then
	reading  instant   // the channel is busy until then
	writing  instant
	flushing instant
	end      int64  // where the last request ended on the medium
	cache    buffer // the device's own, if d.Volatile is not 0
}

func newStation(d Device) *station {
	return &station{d: d, slots: make([]instant, d.Parallel), end: -1, cache: buffer{capacity: d.Volatile}}
}

// latency is the time of a request besides its transfer, and notes where the request ends.
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

// transfer is the time that n bytes take at a rate.
func transfer(n, rate int64) int64 {
	if rate <= 0 {
		return 0
	}
	return n/rate*second + n%rate*second/rate
}

// serve puts a request through a slot and a channel.
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

// occupies is how long the whole device is kept from other work by a request.
func (s *station) occupies(latency, bytes int64) int64 {
	if s.d.Parallel == 0 {
		return bytes
	}
	return max(bytes, (latency+bytes)/int64(s.d.Parallel))
}

func (s *station) read(now instant, off, n int64) instant {
	latency, bytes := s.latency(false, off, n), transfer(n, s.d.ReadRate)
	s.cache.delay(now, s.occupies(latency, bytes)) // reads go before what waits in the cache
	return s.serve(now, latency, bytes, &s.reading)
}

func (s *station) write(now instant, off, n int64) instant {
	latency, bytes := s.latency(true, off, n), transfer(n, s.d.WriteRate)
	if s.d.Volatile == 0 {
		return s.serve(now, latency, bytes, &s.writing)
	}
	// What the cache takes needs no positioning. Its medium is paid for later, by whoever flushes or finds it full.
	taken := s.cache.accept(now, n, s.occupies(latency, bytes))
	if s.d.SequentialLatency > 0 {
		return taken + int64(s.d.SequentialLatency)
	}
	return taken + int64(s.d.WriteLatency)
}

// flush is done when the cache is on the medium; a protected device need not wait for that. Devices serve one flush
// at a time.
func (s *station) flush(now instant) instant {
	start := max(now, s.flushing)
	if !s.d.Protected {
		start = max(start, s.cache.free)
	}
	s.flushing = start + int64(s.d.FlushLatency)
	return s.flushing
}

// tier is a disk with a cache in front. The cache keeps what it took when power fails, so a flush is a flush of the
// cache alone.
type tier struct {
	front, back *station
	dirty       buffer // what is in front and not yet on the back
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

// buffer takes bytes at once and passes them on one after the other.
type buffer struct {
	capacity int64   // bytes
	free     instant // when everything it holds will have been passed on
	work     int64   // the time, in all, of what it ever took
	held     int64   // bytes in queue
	queue    []parcel
}

// parcel are bytes that are passed on when the buffer did so much work in all.
type parcel struct{ work, bytes int64 }

// settle forgets what was passed on by now.
func (b *buffer) settle(now instant) {
	done := b.work - max(0, b.free-now)
	for len(b.queue) > 0 && b.queue[0].work <= done {
		b.held -= b.queue[0].bytes
		b.queue = b.queue[1:]
	}
}

// accept takes n bytes that need some time to be passed on, and returns when there was room for them.
func (b *buffer) accept(now instant, n, cost int64) instant {
	b.settle(now)
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
	// Neighbours share a parcel, so that a cache of a terabyte stays a short list.
	if last := len(b.queue) - 1; last >= 0 && b.queue[last].bytes+n <= b.capacity/1024 {
		b.queue[last] = parcel{b.work, b.queue[last].bytes + n}
	} else {
		b.queue = append(b.queue, parcel{b.work, n})
	}
	return taken
}

// delay holds up what is being passed on.
func (b *buffer) delay(now instant, by int64) {
	if b.free > now {
		b.free += by
	}
}

// lineSize is how much a cache tier takes or forgets at once, in bytes.
const lineSize = 64 << 10

// lines remembers which parts of a disk a cache holds, and forgets what was used longest ago.
type lines struct {
	most  int64
	order *list.List // of line numbers, the latest first
	at    map[int64]*list.Element
}

func newLines(size int64) *lines {
	return &lines{most: max(1, size/lineSize), order: list.New(), at: map[int64]*list.Element{}}
}

// has says whether everything from off on is held, and counts that as use.
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
