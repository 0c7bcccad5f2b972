package serve

import (
	"context"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/contain"
	"github.com/plimsoll-bench/plimsoll/internal/markup"
	"github.com/plimsoll-bench/plimsoll/record"
)

// follower follows one record that is being written, for all clients that look at it. It works only as long as there
// is a client, and keeps nothing but the present: the picture has all of the past in it, so a client that comes late,
// comes back or is slow gets the newest one and misses nothing.
type follower struct {
	s     *Server
	entry Entry
	dir   string

	clients int // guarded by Server.mu
	cancel  context.CancelFunc
	wake    chan struct{}
	done    chan struct{} // closed when it has ended

	mu      sync.Mutex
	present present
	changed chan struct{} // closed and replaced when present changes
}

// present is what a client sees.
type present struct {
	picture *picture
	now     markup.HTML
	// ended is true when nothing writes the record any longer, and picture is the final one.
	ended bool
}

// follow returns the follower of a record, and what must be called when the client is gone.
func (s *Server) follow(e Entry, dir string) (f *follower, leave func()) {
	return s.followWith(e, dir, (*follower).loop)
}

// followWith is [Server.follow] with another loop.
func (s *Server) followWith(e Entry, dir string, loop func(*follower, context.Context)) (f *follower, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f = s.followers[e.ID]
	if f == nil {
		ctx, cancel := context.WithCancel(s.ctx)
		f = &follower{s: s, entry: e, dir: dir, cancel: cancel, wake: make(chan struct{}, 1), done: make(chan struct{}),
			changed: make(chan struct{})}
		s.followers[e.ID] = f
		go func() {
			// The page ends where it was; the process may be the one that measures.
			if contain.Panic("the live page", func() error { loop(f, ctx); return nil }) != nil {
				f.finish()
			}
		}()
	}
	f.clients++
	return f, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if f.clients--; f.clients == 0 {
			f.cancel()
			f.drop()
		}
	}
}

// drop makes the next client start another follower. Server.mu is held.
func (f *follower) drop() {
	if f.s.followers[f.entry.ID] == f {
		delete(f.s.followers, f.entry.ID)
	}
}

func (f *follower) finish() {
	f.set(func(p *present) bool { p.ended = true; return true })
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.drop() // a study may be resumed
}

// hurry makes the loop read the record at once.
func (f *follower) hurry() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *follower) get() (present, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.present, f.changed
}

func (f *follower) set(change func(*present) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if change(&f.present) {
		close(f.changed)
		f.changed = make(chan struct{})
	}
}

// loop reads the record once a second until nothing writes it or no client follows it.
func (f *follower) loop(ctx context.Context) {
	defer close(f.done)
	defer f.cancel()
	now := newNow(ctx, f.entry, f.dir, f.hurry)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		_, held := record.Holder(f.dir) // first: what is shown as the last picture must be of after the end
		f.look()
		if !held {
			f.finish()
			return
		}
		text := now()
		f.set(func(p *present) bool {
			changed := p.now != text
			p.now = text
			return changed
		})
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-f.wake:
		}
	}
}

// look takes the picture that is to be shown now. One that cannot be made leaves the one before.
func (f *follower) look() {
	pic, err := f.s.pages.of(f.entry.ID, f.dir)
	if err != nil {
		return
	}
	f.set(func(p *present) bool {
		changed := p.picture == nil || p.picture.id != pic.id
		p.picture = pic
		return changed
	})
}
