package faultfs

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// op is a set of kinds of requests.
type op uint8

const (
	opRead op = 1 << iota
	opWrite
	opFlush
)

var opBits = map[string]op{"read": opRead, "write": opWrite, "flush": opFlush}

// armed is a fault that is in effect.
type armed struct {
	Fault
	ops   op
	errno syscall.Errno
	seen  atomic.Uint64 // requests of its kind and range
	off   atomic.Bool   // cleared
	timer *time.Timer   // clears it at its limit
}

func arm(f Fault) *armed {
	a := &armed{Fault: f, errno: syscall.EIO}
	names := f.Ops
	if len(names) == 0 {
		names = opsOf[f.Kind]
		if f.Kind == Corrupt {
			names = []string{"read"}
		}
	}
	for _, n := range names {
		a.ops |= opBits[n]
	}
	if e, ok := errnos[f.Errno]; ok {
		a.errno = e
	}
	if f.Kind == Full {
		a.errno = syscall.ENOSPC
	}
	return a
}

// concerns says whether a request has the kind and the range of the fault. Flushes have no range.
func (a *armed) concerns(o op, off, n int64) bool {
	if a.ops&o == 0 || o == opFlush {
		return a.ops&o != 0
	}
	return off+n > a.From && (a.To == 0 || off < a.To)
}

// chance decides whether the fault affects a request or block with a number. The same number gives the same result.
func (a *armed) chance(number uint64) bool { return chance(a.Seed, number, cmp.Or(a.Probability, 1)) }

func chance(seed, number uint64, share float64) bool {
	return share >= 1 || float64(mix(seed, number)>>11) < share*(1<<53)
}

// mix hashes a seed and a number to 64 evenly distributed bits (the finalizer of splitmix64).
func mix(seed, number uint64) uint64 {
	x := seed*0x9e3779b97f4a7c15 + number + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	x = (x + seed) * 0x9e3779b97f4a7c15
	return x ^ x>>32
}

// faultSet is an immutable list of faults. changed is closed when another list replaces it.
type faultSet struct {
	list    []*armed
	changed chan struct{}
}

// faults has the faults of one disk. Requests read them without a lock.
type faults struct {
	mu   sync.Mutex
	now  atomic.Pointer[faultSet]
	hits [8]atomic.Int64 // by the index in kinds
}

func newFaults() *faults {
	fs := &faults{}
	fs.now.Store(&faultSet{changed: make(chan struct{})})
	return fs
}

// swap replaces the list. The caller holds mu.
func (fs *faults) swap(list []*armed) {
	old := fs.now.Load()
	fs.now.Store(&faultSet{list: list, changed: make(chan struct{})})
	close(old.changed)
}

func rank(kind string) int { return slices.Index(kinds, kind) }

func (fs *faults) set(f Fault) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	a := arm(f)
	list := append(slices.Clone(fs.now.Load().list), a)
	slices.SortStableFunc(list, func(x, y *armed) int { return rank(x.Kind) - rank(y.Kind) })
	fs.swap(list)
	if f.Limit > 0 {
		a.timer = time.AfterFunc(f.Limit, func() { fs.clear(func(b *armed) bool { return a == b }) })
	}
}

// clear removes faults and wakes the requests that wait for them.
func (fs *faults) clear(which func(*armed) bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	list := slices.Clone(fs.now.Load().list)
	kept := slices.DeleteFunc(list, func(a *armed) bool {
		if !which(a) {
			return false
		}
		a.off.Store(true)
		if a.timer != nil {
			a.timer.Stop()
		}
		return true
	})
	fs.swap(kept)
}

// clearKinds removes the faults of some kinds; all faults if no kind is given.
func (fs *faults) clearKinds(kinds []string) {
	fs.clear(func(a *armed) bool { return len(kinds) == 0 || slices.Contains(kinds, a.Kind) })
}

func (fs *faults) hit(kind string) { fs.hits[rank(kind)].Add(1) }

// active says whether a fault of a kind is in effect.
func (fs *faults) active(kind string) bool {
	return slices.ContainsFunc(fs.now.Load().list, func(a *armed) bool { return a.Kind == kind })
}

// fill adds the faults and their hits to the stats of a disk.
func (fs *faults) fill(s *Stats) {
	for _, a := range fs.now.Load().list {
		s.Faults = append(s.Faults, a.Fault)
	}
	for i, kind := range kinds {
		if n := fs.hits[i].Load(); n > 0 {
			if s.Hits == nil {
				s.Hits = map[string]int64{}
			}
			s.Hits[kind] = n
		}
	}
}

// verdict has the faults that change a request without refusing it.
type verdict struct {
	torn    *armed
	corrupt []*armed
	lie     bool
}

// waitFunc sleeps for a time (0 is for ever), until the faults change or the request is interrupted, and says whether
// the request was interrupted.
type waitFunc func(d time.Duration, changed <-chan struct{}) (interrupted bool)

// admit delays a request, refuses it, or returns a verdict.
func (fs *faults) admit(o op, off, n int64, wait waitFunc) (verdict, syscall.Errno) {
	hung := false
	for {
		set := fs.now.Load()
		if len(set.list) == 0 {
			return verdict{}, 0
		}
		if fs.hangs(set, o, off, n, hung) {
			hung = true
			if wait(0, set.changed) {
				return verdict{}, syscall.EINTR
			}
			continue
		}
		return fs.apply(set, o, off, n, wait)
	}
}

// hangs says whether a request has to wait. again says that it has waited already, and must not be counted twice.
func (fs *faults) hangs(set *faultSet, o op, off, n int64, again bool) bool {
	for _, a := range set.list {
		switch {
		case a.Kind == Dead:
			return false
		case a.Kind != Hang || !a.concerns(o, off, n):
		case again:
			return true
		case a.chance(a.seen.Add(1)):
			fs.hit(Hang)
			return true
		}
	}
	return false
}

// apply applies all faults except Hang.
func (fs *faults) apply(set *faultSet, o op, off, n int64, wait waitFunc) (verdict, syscall.Errno) {
	var v verdict
	for _, a := range set.list {
		if a.Kind == Hang || !a.concerns(o, off, n) {
			continue
		}
		if a.Kind == Corrupt { // decided block by block
			v.corrupt = append(v.corrupt, a)
			continue
		}
		if !a.chance(a.seen.Add(1)) {
			continue
		}
		fs.hit(a.Kind)
		switch a.Kind {
		case Dead, Error, Full:
			return v, a.errno
		case Slow:
			if fs.slow(a, wait) {
				return v, syscall.EINTR
			}
		case Torn:
			v.torn = a
		case Lie:
			v.lie = true
		}
	}
	return v, 0
}

// slow waits for the delay of a fault, until it is cleared, or until the disk is dead.
func (fs *faults) slow(a *armed, wait waitFunc) (interrupted bool) {
	due := time.Now().Add(a.Delay)
	for {
		set := fs.now.Load()
		left := time.Until(due)
		if left <= 0 || a.off.Load() || fs.active(Dead) {
			return false
		}
		if wait(left, set.changed) {
			return true
		}
	}
}

// part returns how many bytes of a torn write reach the disk: complete sectors, never all of them.
func (a *armed) part(off int64, n int) int {
	sectors := max(1, (n+511)/512)
	return 512 * int(mix(a.Seed, uint64(off)+a.seen.Load()<<40)%uint64(sectors))
}

// damage changes bytes of the blocks that the fault affects, and says whether there were any. Each read of a block
// returns the same damage.
func (a *armed) damage(data []byte, off int64) bool {
	hit := false
	for at := off &^ (blockSize - 1); at < off+int64(len(data)); at += blockSize {
		block := uint64(at / blockSize)
		if !a.chance(block) {
			continue
		}
		bits := mix(a.Seed^math.MaxUint64, block)
		for sector := int64(0); sector < blockSize; sector += 512 { // in every sector, so that small reads are affected too
			if start := at + sector; start+512 <= a.From || a.To != 0 && start >= a.To {
				continue
			}
			p := at + sector + int64(bits%505) - off
			if p >= 0 && p+8 <= int64(len(data)) {
				binary.LittleEndian.PutUint64(data[p:], binary.LittleEndian.Uint64(data[p:])^(bits|1))
				hit = true
			}
		}
	}
	return hit
}
