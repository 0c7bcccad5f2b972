package run

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
	"github.com/plimsoll-bench/plimsoll/run/observe"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/rest"
)

// ServiceBrief is what the REST service between load and target is told.
type ServiceBrief struct {
	// URI is that of MongoDB, with credentials and with the durability of the run in its options.
	URI      string `json:"uri"`
	Database string `json:"database"`
	// Timeout is how long MongoDB may take for a request. It is shorter than that of the load, so that the service can
	// still say what it knows.
	Timeout time.Duration `json:"timeout_ns"`
	// Token is what the service demands of its callers, because it listens on loopback, which everybody on this machine
	// and every web page reaches.
	Token string `json:"token"`
}

// Service is a REST service that was started for a run.
type Service struct {
	// URL is where it answers.
	URL string
	// PID is its process, 0 if it has none of its own: then what it uses is not told.
	PID int
	// Ended is closed when its process is gone.
	Ended <-chan struct{}
	// End ends it after the requests that it has. It says how it ended if that was not in order.
	End func() error
}

// service is the service of a run under way.
type service struct {
	*Service
	closing atomic.Bool
	used    time.Duration // of processor time, at the last look
	looked  bool
}

// use is the processor time that the service used since the last look, and the memory that it has now; ok is false at
// the first look, and where nothing is known. There may be no service.
func (s *service) use() (cpu time.Duration, memory int64, ok bool) {
	if s == nil || s.PID <= 0 || s.lost() { // another process may have the number of one that is gone
		return 0, 0, false
	}
	total, memory, ok := observe.ProcessUse(s.PID)
	if !ok {
		return 0, 0, false
	}
	cpu, ok = total-s.used, s.looked
	s.used, s.looked = total, true
	return max(0, cpu), memory, ok
}

// checkService refuses what cannot be asked of a REST service.
func checkService(t Target, asked spec.Run) error {
	c := Concern(asked.Durability)
	switch {
	case t.Kind == "http" && asked.Via != "":
		return fmt.Errorf("via: %s is a service already; leave via out, or name the MongoDB below as target", t)
	case t.Kind == "http":
		return rest.Check(asked.Workload.Name, c)
	case asked.Via == "":
		return nil
	case t.Kind != "mongodb" && t.Kind != "lab":
		return fmt.Errorf("via: a REST service stands before a MongoDB (mongodb://HOST or lab:NAME), not before %s", t)
	case c.Unacknowledged():
		return errors.New("via: with w:0 nobody confirms a write, so the service could not say that a person was added; ask for more durability, or leave via out")
	case asked.Client == ClientWire:
		return errors.New("client: the service has the official driver (driver); leave client out, or leave via out")
	case asked.Load.Clients > 1:
		return errors.New("load.clients: one load process at a time can have a service of its own; start a service by hand (docs/failover.md) and load its address")
	}
	return rest.Check(asked.Workload.Name, store.Concern{})
}

// serviceShare is the share of the load's deadline that the service gives MongoDB.
const serviceShare = 0.75

// openService starts the service between load and target, and opens it.
func (r *runner) openService(ctx context.Context) (store.Store, error) {
	if r.opts.Service == nil {
		return nil, &store.AddressError{Address: r.target.String(), Problem: "via: a REST service cannot be started from here"}
	}
	uri, err := WithConcern(r.target.URI, Concern(r.spec.Durability))
	if err != nil {
		return nil, err
	}
	r.opts.Progress.Step("starting a REST service before " + r.target.String())
	token := rand.Text()
	started, err := r.opts.Service(ctx, ServiceBrief{URI: uri, Database: r.spec.Database,
		Timeout: time.Duration(serviceShare * float64(r.config.Timeout)), Token: token})
	if err != nil {
		return nil, fmt.Errorf("the REST service before %s cannot be started: %w", r.target, err)
	}
	r.service = &service{Service: started}
	st, err := rest.Open(ctx, store.Config{Target: started.URL, Sessions: r.sessions(), Timeout: r.config.Timeout},
		rest.Options{Token: token})
	if err != nil {
		r.service.close()
		return nil, err
	}
	go r.service.watch(r.watch.Tell)
	return st, nil
}

// identify asks the target what it is: with a service in between, MongoDB itself, which alone knows.
func (r *runner) identify(ctx context.Context, st store.Store) (store.Info, error) {
	if r.service == nil {
		return st.Info(ctx)
	}
	direct, err := r.openWatched(ctx)
	if err != nil {
		return store.Info{}, err
	}
	defer direct.Close()
	info, err := direct.Info(ctx)
	if err != nil {
		return info, err
	}
	if info.Settings == nil {
		info.Settings = map[string]string{}
	}
	info.Settings["via"] = "a REST service on this machine, a process of its own"
	return info, nil
}

// watch tells that the service is gone although nobody ended it.
func (s *service) watch(tell OnEvent) {
	<-s.Ended
	if !s.closing.Load() {
		tell("service", "the REST service ended by itself", nil)
	}
}

// lost reports whether the service is gone although nobody ended it.
func (s *service) lost() bool {
	select {
	case <-s.Ended:
		return !s.closing.Load()
	default:
		return false
	}
}

// close ends the service. There may be none.
func (s *service) close() {
	if s == nil || s.closing.Swap(true) {
		return
	}
	_ = s.End() // the result is written, and how the service ends cannot change it
}

// WithConcern writes a durability into the address of MongoDB, where it wins over what the address says.
func WithConcern(uri string, c store.Concern) (string, error) {
	a, err := mongouri.Parse(uri)
	if err != nil {
		return "", &store.AddressError{Address: store.Redact(uri), Problem: err.Error()}
	}
	set := func(name, value string) {
		if value != "" {
			a.Set(name, value)
		}
	}
	set("w", c.W)
	if c.Journal != nil {
		set("journal", strconv.FormatBool(*c.Journal))
	}
	set("readConcernLevel", c.Read)
	set("readPreference", c.Preference)
	return a.String(), nil
}
