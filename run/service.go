package run

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/dial"
	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
	"github.com/plimsoll-bench/plimsoll/run/observe"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/rest"
)

// ServiceBrief configures the REST service between load and target.
type ServiceBrief struct {
	URI      string `json:"uri"` // of MongoDB, with credentials and the durability of the run
	Database string `json:"database"`
	// Timeout is the deadline of MongoDB for a request. It is shorter than that of the load, so that the service can still
	// report an error.
	Timeout time.Duration `json:"timeout_ns"`
	// Token authenticates callers, because every user and web page of this machine can reach loopback.
	Token string `json:"token"`
}

// Service is a REST service that was started for a run.
type Service struct {
	URL   string
	PID   int             // of its process, 0 if it has none of its own
	Ended <-chan struct{} // closed when its process has ended
	End   func() error    // ends it after its current requests
}

type service struct {
	*Service
	closing atomic.Bool
	used    time.Duration // processor time at the last call of use
	sampled bool          // use was called before
}

// use is the processor time since the last call and the current memory. ok is false at the first call and if they are
// unknown. s may be nil.
func (s *service) use() (cpu time.Duration, memory int64, ok bool) {
	if s == nil || s.PID <= 0 || s.lost() { // the PID may be that of another process by now
		return 0, 0, false
	}
	total, memory, ok := observe.ProcessUse(s.PID)
	if !ok {
		return 0, 0, false
	}
	cpu, ok = total-s.used, s.sampled
	s.used, s.sampled = total, true
	return max(0, cpu), memory, ok
}

func checkService(t Target, asked spec.Run) error {
	c := Concern(asked.Durability.At(asked.Target))
	switch {
	case t.Kind == "http" && asked.Via != "":
		return fmt.Errorf("via: %s is a service already. Remove via, or make the MongoDB behind it the target", t)
	case t.Kind == "http":
		return rest.Check(asked.Workload.Name, c)
	case asked.Via == "":
		return nil
	case t.Kind != "mongodb" && t.Kind != "lab":
		return fmt.Errorf("via: a REST service needs a MongoDB behind it (mongodb://HOST or lab:NAME), not %s", t)
	case c.Unacknowledged():
		return errors.New("via: writes with w:0 are unacknowledged, so the service could not confirm a request. Choose a higher durability, or " +
			"remove via")
	case asked.Client == ClientWire:
		return errors.New("client: the service uses the official driver (driver). Remove client, or remove via")
	}
	return rest.Check(asked.Workload.Name, store.Concern{})
}

// checkWays refuses load clients and a REST service on this machine where only this process has ways to the members.
func (r *runner) checkWays() error {
	if r.opts.Others.fills() || r.opts.Others == nil && r.spec.Via == "" || r.target.Kind != "mongodb" {
		return nil
	}
	a, err := mongouri.Parse(r.target.URI)
	if err != nil || !slices.ContainsFunc(strings.Split(a.Hosts, ","), dial.Leads) {
		return nil // what opens the address says what is wrong with it
	}
	return &store.AddressError{Address: r.target.String(), Problem: "only this process reaches the members, by port-forwards, and not " +
		"its load clients or its REST service. Start them in the cluster: --agents 1 --place kubernetes"}
}

func (r *runner) openService(ctx context.Context) (store.Store, error) {
	if r.opts.Service == nil {
		return nil, &store.AddressError{Address: r.target.String(), Problem: "via: this command cannot start a REST service"}
	}
	uri, err := WithConcern(r.target.URI, Concern(r.spec.Durability))
	if err != nil {
		return nil, err
	}
	r.opts.Progress.Step("starting a REST service before " + r.target.String())
	token := rand.Text()
	started, err := r.opts.Service(ctx, ServiceBrief{URI: uri, Database: r.spec.Database,
		Timeout: r.config.Timeout * 3 / 4, Token: token})
	if err != nil {
		return nil, fmt.Errorf("cannot start the REST service before %s: %w", r.target, err)
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

// identify identifies the MongoDB of the target, behind the service if there is one.
func (r *runner) identify(ctx context.Context, st store.Store) (store.Info, error) {
	if r.spec.Via == "" {
		return st.Info(ctx)
	}
	via := "a REST service for each agent, in a separate process on its machine"
	if r.service != nil {
		direct, err := r.openWatched(ctx)
		if err != nil {
			return store.Info{}, err
		}
		defer direct.Close()
		st, via = direct, "a REST service on this machine, in a separate process"
	}
	info, err := st.Info(ctx)
	if err != nil {
		return info, err
	}
	if info.Settings == nil {
		info.Settings = map[string]string{}
	}
	info.Settings["via"] = via
	return info, nil
}

// watch reports the end of the service before the run ends it.
func (s *service) watch(tell OnEvent) {
	<-s.Ended
	if !s.closing.Load() {
		tell("service", "the REST service ended unexpectedly", nil)
	}
}

// lost reports whether the service ended before the run ended it.
func (s *service) lost() bool {
	select {
	case <-s.Ended:
		return !s.closing.Load()
	default:
		return false
	}
}

// close ends the service. s may be nil.
func (s *service) close() {
	if s == nil || s.closing.Swap(true) {
		return
	}
	_ = s.End() // the result is already written
}

// WithConcern sets the options of a write and read concern in the address of a MongoDB.
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
