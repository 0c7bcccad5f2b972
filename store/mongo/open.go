package mongo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/internal/dial"
	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
	"github.com/plimsoll-bench/plimsoll/store"
)

// Options are settings of the driver.
type Options struct {
	// WorkersPerClient is the number of sessions that share one client of the driver, with its pools and monitors. 0 is
	// [defaultWorkersPerClient].
	WorkersPerClient int
	// OnEvent gets changes of the driver's view of the deployment (see events.go for the kinds). The driver's goroutines
	// call it, some with locks of the driver: it must return at once and must not use the store.
	OnEvent func(kind, text string, data map[string]string)
}

// defaultWorkersPerClient bounds the goroutines that compete for the locks of one pool of connections and one pool of
// server sessions. Each further client costs two monitoring connections per member.
const defaultWorkersPerClient = 32

// defaultTimeout is for a configuration without a timeout.
const defaultTimeout = 10 * time.Second

// Store is a target behind the official driver.
type Store struct {
	cfg     store.Config
	clients []*driver.Client
	used    settings
	notes   []string        // about the address
	life    context.Context // of all operations
	end     context.CancelFunc
	closing sync.Once
	closed  error
}

// Open connects to the target and checks, within cfg.Timeout, that it replies and that the user may read the database.
// Its errors contain no credentials.
func Open(ctx context.Context, cfg store.Config, opts Options) (*Store, error) {
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.Sessions <= 0 {
		cfg.Sessions = 1
	}
	address, wrong := mongouri.Parse(cfg.Target)
	if cfg.Database == "" {
		cfg.Database = address.Database()
	}
	if cfg.Database == "" && wrong == nil { // the driver explains an invalid address
		return nil, errors.New("no database: name one in the address (mongodb://HOST/DATABASE) or in the configuration")
	}
	if opts.WorkersPerClient <= 0 {
		opts.WorkersPerClient = defaultWorkersPerClient
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	base, notes, err := parse(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s := &Store{cfg: cfg, notes: notes}
	s.life, s.end = context.WithCancel(context.Background())
	if err := s.connect(base, opts); err != nil {
		_ = s.Close() // the first error is returned
		return nil, fmt.Errorf("cannot use %s: %s", store.Redact(cfg.Target), store.OneLine(err.Error()))
	}
	if err := s.verify(ctx); err != nil {
		_ = s.Close()
		return nil, s.explain(err)
	}
	return s, nil
}

// connect makes the clients. They find their servers in the background.
func (s *Store) connect(base *options.ClientOptions, opts Options) error {
	n := (s.cfg.Sessions + opts.WorkersPerClient - 1) / opts.WorkersPerClient
	perClient := (s.cfg.Sessions + n - 1) / n
	if base.MaxPoolSize == nil {
		// The driver reads the late reply of an operation that timed out for 400 ms, and the session needs another connection
		// in that time. Otherwise this would be an outage.
		base.SetMaxPoolSize(uint64(2 * perClient))
	}
	base.SetMonitor(commandMonitor(s.cfg.Times)).SetDialer(&dial.Dialer{})
	s.used = effective(base, n)
	if s.cfg.Concern.Causal {
		s.used.text["client sessions"] = "causally consistent"
	}
	for i := range n {
		clientOptions := *base
		if i == 0 && opts.OnEvent != nil {
			watch(&clientOptions, opts.OnEvent)
		}
		c, err := driver.Connect(&clientOptions)
		if err != nil {
			return err
		}
		s.clients = append(s.clients, c)
	}
	return nil
}

// Session opens the session of a worker. Its operations take connections from the pools of their client.
func (s *Store) Session(worker int) (store.Session, error) {
	if worker < 0 {
		return nil, fmt.Errorf("worker number %d is negative", worker)
	}
	client := s.clients[worker%len(s.clients)]
	return newSession(s.life, client, s.cfg.Database, s.used.acknowledged, s.cfg.Concern.Causal)
}

// Close ends all operations and disconnects all clients. Later calls return the result of the first one.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.end() // in a disconnected client, an operation that looks for a server never waits: it keeps a core busy
		ctx, cancel := context.WithTimeout(context.Background(), s.cfg.Timeout)
		defer cancel()
		for _, c := range s.clients {
			if err := c.Disconnect(ctx); err != nil && s.closed == nil {
				s.closed = fmt.Errorf("disconnect from %s: %s", store.Redact(s.cfg.Target), store.OneLine(err.Error()))
			}
		}
	})
	return s.closed
}
