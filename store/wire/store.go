package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/loop"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// settleTime is the time for which opening a store waits for further servers.
const settleTime = time.Second

// Store is an open deployment.
type Store struct {
	st       *settings
	topology *topology
	watching sync.Once

	mu    sync.Mutex // guards admin and serialises administrative commands
	admin *link
}

var (
	_ store.Store      = (*Store)(nil)
	_ store.Session    = (*Session)(nil)
	_ server.Commander = (*Store)(nil)
	_ loop.Store       = (*Store)(nil)
	_ loop.Session     = (*Session)(nil)
)

// Open connects to the deployment of cfg.Target, a mongodb:// or mongodb+srv:// address, and checks that it replies and
// accepts the credentials. The database of cfg and the fields of cfg.Concern that are set override the address. It
// fails within cfg.Timeout (10 s if zero) or when ctx ends. Its errors contain no credentials.
func Open(ctx context.Context, cfg store.Config, opts ...Option) (*Store, error) {
	timeout := cfg.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	st, err := newSettings(ctx, cfg)
	if err != nil {
		return nil, err
	}
	for _, o := range opts {
		o(st)
	}
	s := &Store{st: st}
	s.topology = newTopology(st, s.greet)
	if err := s.check(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot use %s: %w", store.Redact(cfg.Target), err), s.Close())
	}
	return s, nil
}

// check finds a server, authenticates once, and waits a moment for the other servers, so that sessions use all of them.
func (s *Store) check(ctx context.Context) error {
	l, _, err := s.connect(ctx, s.st.preference, 0)
	if err != nil {
		return err
	}
	if l.greeting.role == rolePrimary || l.greeting.role == roleStandalone || l.greeting.role == roleRouter {
		s.admin = l
	} else {
		l.close()
	}
	settle, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	s.topology.settle(settle)
	if s.st.preference != primary {
		s.watchOnce()
	}
	return nil
}

// watchOnce greets the members of a replica set from now on, because reads may go to any of them.
func (s *Store) watchOnce() {
	s.watching.Do(func() {
		if s.topology.isSet() {
			s.topology.working.Go(s.topology.watch)
		}
	})
}

// greetAgain is the pause after which another connection for a greeting is opened beside those that have no reply, and
// greetBeside is the number of such connections at a time.
const (
	greetAgain  = 100 * time.Millisecond
	greetBeside = 3
)

// greet gets the greeting of a server. A connection that was opened while the server could not be reached may hang long
// after it can: its first packet is sent again after 1, 3 and 7 s only. So further connections are opened beside the
// first one, and the first reply counts. The first connection waits as long as ctx lasts, because a server may be slow.
func (s *Store) greet(ctx context.Context, addr string) (*greeting, error) {
	ctx, cancel := context.WithCancel(ctx)
	type answer struct {
		g   *greeting
		err error
	}
	first, beside := make(chan answer, 1), make(chan answer)
	var working sync.WaitGroup
	defer working.Wait()
	defer cancel()
	working.Go(func() {
		g, err := s.greetOnce(ctx, addr)
		first <- answer{g, err}
	})
	again := time.NewTicker(greetAgain)
	defer again.Stop()
	for {
		select {
		case a := <-first:
			return a.g, a.err
		case a := <-beside:
			return a.g, a.err
		case <-again.C:
			working.Go(func() {
				one, cancel := context.WithTimeout(ctx, greetBeside*greetAgain)
				defer cancel()
				g, err := s.greetOnce(one, addr)
				if err != nil && one.Err() != nil {
					return // the next one is on its way
				}
				select {
				case beside <- answer{g, err}:
				case <-ctx.Done():
				}
			})
		}
	}
}

// greetOnce gets the greeting of a server on a new connection.
func (s *Store) greetOnce(ctx context.Context, addr string) (*greeting, error) {
	l, err := openLink(ctx, s.st, addr)
	if err != nil {
		return nil, err
	}
	l.close()
	return l.greeting, nil
}

// connect finds a server for a preference and connects to it, and retries until ctx ends.
func (s *Store) connect(ctx context.Context, want preference, worker int) (*link, choice, error) {
	var last error
	for {
		c, err := s.topology.pick(ctx, want, worker)
		if err != nil {
			if last != nil {
				err = fmt.Errorf("%w (last attempt: %w)", err, last)
			}
			return nil, c, err
		}
		l, err := s.dial(ctx, c.addr, want)
		if err == nil {
			return l, c, nil
		}
		var auth *authError
		if errors.As(err, &auth) {
			return nil, c, err
		}
		last = err
		s.topology.report(c, err.Error())
	}
}

// dial makes an authenticated connection to a server and checks that it still has the role of the choice.
func (s *Store) dial(ctx context.Context, addr string, want preference) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, s.st.connect)
	defer cancel()
	l, err := openLink(ctx, s.st, addr)
	if err != nil {
		return nil, err
	}
	if want == primary && !s.st.direct && (l.greeting.role == roleSecondary || l.greeting.role == roleOther) {
		err = fmt.Errorf("%s is a %s now", addr, l.greeting.role)
	}
	if err == nil && s.st.auth != nil {
		err = l.authenticate(ctx, s.st.auth)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// Session opens a session and connects it within cfg.Timeout or 10 s, whichever is longer: all workers connect at once,
// and the server may be busy.
func (s *Store) Session(worker int) (store.Session, error) {
	ctx, cancel := context.WithTimeout(s.topology.ctx, max(s.st.timeout, defaultTimeout))
	defer cancel()
	c := newSession(s, worker)
	p := &c.writes
	if c.reads.want != primary && s.topology.isSet() {
		p = &c.reads
	}
	if err := c.open(ctx, p); err != nil {
		return nil, fmt.Errorf("worker %d cannot connect: %w", worker, err)
	}
	return c, nil
}

// The connections of [WithDialer] may not support a loop.
func (s *Store) OnLoops() bool { return !s.st.dialer }

// Close closes the store's own connections. Sessions must be closed before.
func (s *Store) Close() error {
	s.topology.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.admin != nil {
		s.admin.close()
		s.admin = nil
	}
	return nil
}

// RunCommand runs an administrative command on the primary or a router. ctx bounds it, or cfg.Timeout if ctx has no
// deadline. If the connection was lost since the last command, it connects again and repeats the command once.
func (s *Store) RunCommand(ctx context.Context, db string, cmd []byte) ([]byte, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.st.timeout)
		defer cancel()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for fresh := s.admin == nil; ; fresh = true {
		reply, err := s.runOnce(ctx, db, cmd)
		var refusal *store.ServerError
		isRefusal := errors.As(err, &refusal)
		if isRefusal && !store.ChangesPrimary(refusal.Code) {
			return nil, err
		}
		if err == nil {
			return reply, nil
		}
		if s.admin != nil {
			s.admin.close()
			s.admin = nil
		}
		if fresh || ctx.Err() != nil {
			return nil, err
		}
	}
}

// runOnce runs a command on the administrative connection, and connects if there is none.
func (s *Store) runOnce(ctx context.Context, db string, cmd []byte) ([]byte, error) {
	if s.admin == nil {
		l, _, err := s.connect(ctx, primary, 0)
		if err != nil {
			return nil, err
		}
		s.admin = l
	}
	doc, err := s.admin.run(ctx, db, cmd)
	if err != nil {
		return nil, err
	}
	if err := checkDepth(doc); err != nil {
		return nil, err
	}
	return bytes.Clone(doc), nil
}

func (s *Store) Info(ctx context.Context) (store.Info, error) {
	info := store.ServerInfo(ctx, s, s.st.database)
	info.Notes = append(info.Notes, s.st.notes...)
	s.st.describe(info.Settings)
	if info.Kind == "" {
		return info, fmt.Errorf("the description of the deployment could not be read: %s", strings.Join(info.Notes, "; "))
	}
	if len(info.Hosts) == 0 {
		info.Hosts = slices.Clone(s.st.seeds)
	}
	return info, nil
}

// wholeCollection bounds a command on a whole collection without a deadline: counting 100 million documents on a hard
// disk takes most of an hour.
const wholeCollection = 2 * time.Hour

func withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, wholeCollection)
}

// EnsureIndexes creates the indexes that do not exist yet.
func (s *Store) EnsureIndexes(ctx context.Context, indexes []workload.Index) error {
	ctx, cancel := withDeadline(ctx)
	defer cancel()
	return store.EnsureIndexes(ctx, s, s.st.database, indexes)
}

func (s *Store) Count(ctx context.Context, collection string) (int64, error) {
	ctx, cancel := withDeadline(ctx)
	defer cancel()
	return store.CountDocuments(ctx, s, s.st.database, collection)
}

func (s *Store) Drop(ctx context.Context, collection string) error {
	ctx, cancel := withDeadline(ctx)
	defer cancel()
	return store.DropCollection(ctx, s, s.st.database, collection)
}
