package fleet

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// honest is an order as a coordinator sends it to an agent on another machine.
func honest() order {
	asked := testSpec(2)
	asked.Load.Duration, asked.Load.Warmup, asked.Load.Operations, asked.Load.Pace = 0, 0, 50, 0
	turns := workload.Turns{Cycle: 2, Mine: []int{0}}
	return order{Spec: divide(asked, turns), Whole: asked.Load, Clients: 2, Turns: turns, Number: 1}
}

// obey gives an order to an agent, starts its load, and returns its result.
func obey(t *testing.T, a Agent, o order) *result {
	t.Helper()
	toAgent, out := io.Pipe()
	in, fromAgent := io.Pipe()
	ended := make(chan struct{})
	go func() { defer close(ended); _ = a.Serve(t.Context(), Pipe(toAgent, fromAgent)) }()
	say := json.NewEncoder(out)
	if err := say.Encode(command{Order: &o}); err != nil {
		t.Fatal(err)
	}
	defer func() { out.Close(); in.Close(); <-ended }()
	for said := json.NewDecoder(in); ; {
		var m message
		if err := said.Decode(&m); err != nil {
			t.Fatal(err)
		}
		switch {
		case m.Ready:
			if err := say.Encode(command{Start: 1}); err != nil {
				t.Fatal(err)
			}
		case m.Filled != nil:
			return &result{failure: m.Filled.failure}
		case m.Done != nil:
			return m.Done
		}
	}
}

// A forged order cannot make an agent write a directory, send a file of its machine to an address, open a file, or
// connect to anything but MongoDB.
func TestForgedOrders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("opensesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	foreign := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(foreign.Close)
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, forge := range map[string]func(*order){
		"directory": func(o *order) { o.Dir = at("record") },
		"observe": func(o *order) {
			o.Spec.Observe = &spec.Observe{Prometheus: &spec.Prometheus{URL: foreign.URL, Credentials: secret,
				Queries: map[string]string{"up": "up"}}}
		},
		"csv":      func(o *order) { o.Spec.Observe = &spec.Observe{CSV: []spec.ValueFile{{File: secret}}} },
		"out":      func(o *order) { o.Spec.Out = at("out") },
		"embedded": func(o *order) { o.Spec.Target = "embedded:" + at("documents") },
		"default":  func(o *order) { o.Spec.Target = "" },
		"service":  func(o *order) { o.Spec.Target, o.Spec.Workload.Name = foreign.URL+"/", "person" },
		"address":  func(o *order) { o.Spec.Target, o.Address = "lab:three", "embedded:"+at("documents") },
		"lab":      func(o *order) { o.Spec.Target = "lab:three" },
		"replay":   func(o *order) { o.Spec.Load.Replay = secret },
		"workload": func(o *order) { o.Spec.Workload.Name = at("w.yaml") },
		"histogram": func(o *order) {
			o.Spec.Workload.Params = map[string]string{"fieldlengthdistribution": "histogram", "fieldlengthhistogram": secret}
		},
		"identity": func(o *order) { o.Spec.Target = "mongodb://127.0.0.1:1/?AuthMechanism=MONGODB-OIDC" },
		"load": func(o *order) {
			o.Fill, o.Spec.Target = &run.FillRange{To: 10}, "embedded:"+at("documents")
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := honest()
			forge(&o)
			r := obey(t, Agent{Dir: t.TempDir()}, o)
			if !strings.Contains(r.Error, "the agent refuses") || r.Stage != run.Specification {
				t.Errorf("the agent answers %q (%v), want a refusal", r.Error, r.Stage)
			}
		})
	}
	t.Cleanup(func() {
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != 1 || asked.Load() != 0 {
			t.Errorf("the directory has %v, and the foreign server was asked %d times: %v", left, asked.Load(), err)
		}
	})
}

// Orders as they should be are performed, by processes of this machine with a directory too.
func TestHonestOrders(t *testing.T) {
	t.Parallel()
	if r := obey(t, Agent{Dir: t.TempDir()}, honest()); r.Error != "" || r.Run == nil {
		t.Errorf("the agent answers %q", r.Error)
	}
	o := honest()
	o.Dir = filepath.Join(t.TempDir(), "record")
	if r := obey(t, Agent{Local: true}, o); r.Error != "" || r.Run == nil {
		t.Errorf("the process answers %q", r.Error)
	}
}

// refusedFields are the fields of an order that agents on other machines refuse.
var refusedFields = []string{
	"dir", "spec.load.clients", "spec.load.place", "spec.load.replay", "spec.load.shares", "spec.load.speed",
	"spec.load.strict", "spec.load.zones", "spec.objectives", "spec.observe.csv.file", "spec.observe.csv.offset",
	"spec.observe.prometheus.credentials", "spec.observe.prometheus.queries", "spec.observe.prometheus.url",
	"spec.observe.skip_diagnostic_data", "spec.out", "whole.replay", "whole.speed",
}

// Each field of an order is permitted or refused. A new one is refused until somebody decides that it cannot harm the
// machine of an agent, and adds it to the list of permitted fields.
func TestFieldsOfOrders(t *testing.T) {
	t.Parallel()
	var known []string
	var o order
	each(reflect.TypeOf(o), "", func(path string, index []int) {
		known = append(known, path)
		refused := slices.Contains(refusedFields, path)
		if refused == slices.Contains(permitted, path) {
			t.Errorf("the field %s is neither permitted nor refused, or both", path)
		}
	})
	for _, path := range append(slices.Clone(permitted), refusedFields...) {
		if !slices.Contains(known, path) {
			t.Errorf("there is no field %s", path)
		}
	}
	// A type with a field that nobody has decided about.
	type tomorrow struct {
		Spec struct {
			Database string `json:"database"`
			Exec     string `json:"exec"`
		} `json:"spec"`
	}
	var next tomorrow
	next.Spec.Database = "db"
	if got := notPermitted(reflect.ValueOf(next), ""); got != "" {
		t.Errorf("the field %s is refused", got)
	}
	next.Spec.Exec = "true"
	if got := notPermitted(reflect.ValueOf(next), ""); got != "spec.exec" {
		t.Errorf("refused is %q, want the new field", got)
	}
}

// each calls do with every field of a type that is no structure itself.
func each(t reflect.Type, path string, do func(path string, index []int)) {
	switch {
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		each(t.Elem(), path, do)
	case t.Kind() != reflect.Struct:
		do(path, nil)
	default:
		for i := range t.NumField() {
			each(t.Field(i).Type, below(path, t.Field(i)), do)
		}
	}
}
