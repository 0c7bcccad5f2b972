package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/examples/failover/persons"
	"github.com/plimsoll-bench/plimsoll/internal/dial"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/store/null"
)

func TestWithConcern(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		uri     string
		concern store.Concern
		want    string
	}{
		{"mongodb://h1:1,h2:2", store.Concern{}, "mongodb://h1:1,h2:2/"},
		{"mongodb://h", store.Concern{W: "majority"}, "mongodb://h/?w=majority"},
		{"mongodb://u:p@h/?replicaSet=rs&W=1", store.Concern{W: "2", Journal: &yes}, "mongodb://u:p@h/?replicaSet=rs&w=2&journal=true"},
		{"mongodb://u:p%2F@h", store.Concern{Journal: &no}, "mongodb://u:p%2F@h/?journal=false"},
		{"mongodb://h/db?authSource=admin", store.Concern{Read: "majority", Preference: "nearest"}, "mongodb://h/db?authSource=admin&readConcernLevel=majority&readPreference=nearest"},
	} {
		if got, err := WithConcern(c.uri, c.concern); err != nil || got != c.want {
			t.Errorf("%s with %+v: %q, %v, want %q", c.uri, c.concern, got, err, c.want)
		}
	}
	if _, err := WithConcern("mongodb://u:secret@h/?a=%zz", store.Concern{}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("options that cannot be read: %v", err)
	}
}

// What cannot be asked of a service is refused before anything is touched.
func TestCheckService(t *testing.T) {
	for _, c := range []struct {
		change func(*spec.Run)
		want   string
	}{
		{func(*spec.Run) {}, ""},
		{func(s *spec.Run) { s.Target = "lab:three" }, ""},
		{func(s *spec.Run) { s.Durability.Name = "durable" }, ""},
		{func(s *spec.Run) { s.Target, s.Via = "http://127.0.0.1:1/", "" }, ""},
		{func(s *spec.Run) { s.Workload.Name = "b" }, "only the workload person"},
		{func(s *spec.Run) { s.Durability.W = "0" }, "w:0"},
		{func(s *spec.Run) { s.Durability.Name = "throughput" }, "w:0"},
		{func(s *spec.Run) { s.Target = "null:" }, ", not null:"},
		{func(s *spec.Run) { s.Client = "wire" }, "official driver"},
		{func(s *spec.Run) { s.Load.Clients = 2 }, ""},
		{func(s *spec.Run) { s.Target = "http://127.0.0.1:1/" }, "a service already"},
		{func(s *spec.Run) { s.Target, s.Via, s.Durability.W = "http://127.0.0.1:1/", "", "majority" }, "the service decides"},
		{func(s *spec.Run) { s.Target, s.Via, s.Workload.Name = "http://127.0.0.1:1/", "", "a" }, "only the workload person"},
		{func(s *spec.Run) { s.Via = "rst" }, "did you mean rest"},
	} {
		s := spec.Run{Target: "mongodb://127.0.0.1:1/", Via: spec.ViaREST, Workload: spec.Workload{Name: "person"}}
		c.change(&s)
		err := s.Complete()
		if err == nil {
			err = NewCheck()(s)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", s, err, c.want)
		}
	}
}

// serviceHere serves in this process, in the place of one of its own.
func serviceHere(t *testing.T,
	told *ServiceBrief) (start func(context.Context, ServiceBrief) (*Service, error), kill func()) {
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	return func(_ context.Context, b ServiceBrief) (*Service, error) {
		*told = b
		url, ended := make(chan string, 1), make(chan struct{})
		go func() {
			defer close(ended)
			if err := persons.Serve(ctx, "127.0.0.1:0", persons.Options{URI: b.URI, Database: b.Database, Timeout: b.Timeout,
				Token: b.Token}, func(u string) { url <- u }); err != nil {
				t.Error(err)
			}
		}()
		return &Service{URL: <-url, PID: os.Getpid(), Ended: ended, End: func() error { stop(); <-ended; return nil }}, nil
	}, stop
}

func viaSpec(t *testing.T) spec.Run {
	t.Helper()
	r, err := null.Listen(null.Options{Count: 1000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	s := spec.Run{Target: r.URI(), Via: spec.ViaREST, Workload: spec.Workload{Name: "person", Records: 100},
		Load: spec.Load{Workers: 4, Operations: 200, Timeout: spec.Duration(time.Minute)}, Durability: spec.Durability{W: "majority"},
		LoadPhase: spec.LoadPhase{Skip: true}}
	s.Defaults()
	return s
}

// A run via rest loads the service, which has the durability of the run, and ends it.
func TestRunViaService(t *testing.T) {
	var told ServiceBrief
	start, _ := serviceHere(t, &told)
	var service *Service
	spec := viaSpec(t)
	result, err := Execute(t.Context(), spec, Options{Dir: filepath.Join(t.TempDir(), "record"),
		Service: func(ctx context.Context, b ServiceBrief) (*Service, error) {
			var err error
			service, err = start(ctx, b)
			return service, err
		}})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-service.Ended:
	default:
		t.Error("the service is still there after the run")
	}
	if !strings.Contains(told.URI, "w=majority") || told.Database != "plimsoll" || told.Timeout != 45*time.Second || len(told.Token) < 20 {
		t.Errorf("the service was told %+v", told)
	}
	if result.Target.Kind == "REST service" || result.Target.Settings["via"] == "" || !strings.HasPrefix(result.ClientSettings["client"], "rest") {
		t.Errorf("the record says of its target %+v, of its client %v", result.Target, result.ClientSettings)
	}
	if result.Status != record.Complete {
		t.Errorf("the run is %s", result.Status)
	}
	if s := result.Phase("measure").Service; s == nil || s.MemoryBytes <= 0 || s.CPUSeconds < 0 {
		t.Errorf("what the service used is %+v", s)
	}
}

// Members that only this process reaches are not loaded by its other processes, which would wait for them in vain.
func TestWaysOfThisProcessOnly(t *testing.T) {
	defer dial.Use(func(address string) (string, error) {
		if address == "db-0.db:27017" {
			return "127.0.0.1:1", nil
		}
		return "", nil
	})()
	others := func(context.Context, string, Sink) (ClientsReport, error) {
		return ClientsReport{}, errors.New("they were started")
	}
	for name, change := range map[string]func(*spec.Run, *Options){
		"service": func(s *spec.Run, _ *Options) {},
		"clients": func(s *spec.Run, o *Options) { s.Via, s.Load.Clients, o.Others = "", 2, &Clients{Load: others} },
	} {
		s, o := viaSpec(t), Options{Dir: filepath.Join(t.TempDir(), "record")}
		s.Target = "mongodb://elsewhere:1,db-0.db:27017/?replicaSet=rs"
		change(&s, &o)
		_, err := Execute(t.Context(), s, o)
		if err == nil || !strings.Contains(err.Error(), "only this process reaches the members") || !strings.Contains(err.Error(), "--place kubernetes") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestServiceThatEnds(t *testing.T) {
	var told ServiceBrief
	start, kill := serviceHere(t, &told)
	spec := viaSpec(t)
	var service *Service
	result, err := Execute(t.Context(), spec, Options{
		Dir: filepath.Join(t.TempDir(), "record"),
		Service: func(ctx context.Context, b ServiceBrief) (*Service, error) {
			var err error
			service, err = start(ctx, b)
			return service, err
		},
		Ready: func(context.Context) error { kill(); <-service.Ended; return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range result.Validity {
		found = found || f.ID == "service-ended" && f.Severity == measure.Invalid
	}
	if !found {
		t.Errorf("nobody says that the service was gone: %v", result.Validity)
	}
}

func TestServiceThatCannotStart(t *testing.T) {
	spec := viaSpec(t)
	dir := t.TempDir()
	if _, err := Execute(t.Context(), spec, Options{Dir: filepath.Join(dir, "1")}); err == nil ||
		!strings.Contains(err.Error(), "cannot start a REST service") {
		t.Errorf("without a starter: %v", err)
	}
	_, err := Execute(t.Context(), spec, Options{Dir: filepath.Join(dir, "2"),
		Service: func(context.Context, ServiceBrief) (*Service, error) {
			return nil, errors.New("no room")
		}})
	if err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("one that fails: %v", err)
	}
}
