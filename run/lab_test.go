package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store/null"
)

// fakeLab is a lab of two hosts before a responder of this process.
type fakeLab struct {
	uri string
	log string

	mu     sync.Mutex
	used   float64
	asked  int
	closed bool
	event  bool
	change func(*record.Lab)
}

const labPassword = "hush-hush-hush"

// ownSecret is one of the lab's servers among each other, which no address has.
const ownSecret = "0123456789abcdef-own"

// Dir is the lab's directory, beside its log.
func (f *fakeLab) Dir() string { return filepath.Dir(f.log) }

func (f *fakeLab) Address(_ context.Context, d spec.Durability) (LabAddress, error) {
	if d.W == "9" {
		return LabAddress{}, errors.New("9 members cannot acknowledge, the lab has 2")
	}
	return LabAddress{URI: f.uri, Level: "durable", Means: "synchronous_commit = on"}, nil
}

func (f *fakeLab) Describe(_ context.Context, deep bool) (record.Lab, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if deep {
		f.asked++
	}
	lag := int64(32 << 20)
	l := record.Lab{
		SchemaVersion: record.SchemaVersion, Name: "three", State: "up", Engine: "documentdb", URI: "mongodb://plimsoll:" + labPassword + "@h/",
		Hosts: []record.LabHost{{Name: "host1", Role: "member", State: "on", Cores: 0.5}, {Name: "host2", Role: "member", State: "on"}},
		Members: []record.LabMember{
			{Name: "rs0-1", Kind: "postgres", Host: "host1", State: "running", Role: "primary", Logs: []string{f.log}},
			{Name: "rs0-2", Kind: "postgres", Host: "host2", State: "running", Role: "secondary", LagBytes: &lag},
		},
	}
	if f.asked > 2 && f.change != nil { // once when it is opened, once before the load, once after it
		f.change(&l)
	}
	return l, nil
}

func (f *fakeLab) Usage(context.Context) ([]record.LabUsage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used++
	return []record.LabUsage{
		{Host: "host1", CPUSeconds: f.used, ThrottledSeconds: f.used / 2, Memory: 1 << 20, WriteBytes: int64(f.used) * 4096},
		{Host: "host2", CPUSeconds: f.used / 4, Memory: 2 << 20},
	}, nil
}

func (f *fakeLab) EventsSince(_ context.Context, seq int64) ([]record.LabEvent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := []record.LabEvent{{Seq: 1, Time: time.Now().Add(-time.Hour), Kind: "fault", Text: "long before the run"}}
	if f.event && f.used >= 3 {
		list = append(list, record.LabEvent{Seq: 2, Time: time.Now(), Kind: "fault", Text: "power-off of host2"})
	}
	return slices.DeleteFunc(list, func(e record.LabEvent) bool { return e.Seq <= seq }), nil
}

func (f *fakeLab) Close() error { f.closed = true; return nil }

func newFakeLab(t *testing.T) *fakeLab {
	t.Helper()
	responder, err := null.Listen(null.Options{Count: nullDocuments})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { responder.Close() })
	log := filepath.Join(t.TempDir(), "postgres.log")
	if err := os.WriteFile(log, []byte("before the run\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	secrets := filepath.Join(filepath.Dir(log), "secrets")
	if err := errors.Join(os.Mkdir(secrets, 0o700), os.WriteFile(filepath.Join(secrets, "postgres"),
		[]byte(ownSecret+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return &fakeLab{uri: responder.URI(), log: log}
}

// endsWhen ends a run when the lab was looked at often enough and, if it is to break, that was told.
type endsWhen struct {
	silent
	lab    *fakeLab
	told   bool
	before func()
	end    func()
}

func (e *endsWhen) Event(event measure.Event) { e.told = e.told || event.Kind == "fault" }

func (e *endsWhen) Interval(_ measure.Dims, iv *measure.Interval) {
	e.lab.mu.Lock()
	ready := e.lab.used >= 5 && (e.told || !e.lab.event)
	e.lab.mu.Unlock()
	if iv.Phase == load.PhaseMeasure && iv.Start >= 3*time.Second && ready {
		e.before()
		e.end()
	}
}

// labRun loads a fake lab until some seconds were measured.
func labRun(t *testing.T, f *fakeLab, atEnd func(), change func(*spec.Run)) (*record.Run, string) {
	t.Helper()
	asked := small("", func(s *spec.Run) {
		s.Target, s.LoadPhase.Skip, s.Load = "lab:three", true,
			spec.Load{Workers: 1, Rate: 50, Duration: spec.Duration(5 * time.Minute)}
		if change != nil {
			change(s)
		}
	})
	dir := filepath.Join(t.TempDir(), "record")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var once sync.Once
	_, err := Execute(ctx, asked, Options{Dir: dir, Progress: &endsWhen{lab: f, before: func() { once.Do(atEnd) },
		end: cancel},
		Lab: func(_ context.Context, name string) (Lab, error) {
			if name != "three" {
				t.Errorf("lab %q was looked for", name)
			}
			return f, nil
		}})
	if !interrupted(err) {
		t.Fatal(err)
	}
	r, err := record.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r, dir
}

// A run against a lab says what the lab was before and after, what its hosts used, and what its members logged.
func TestRunOfALab(t *testing.T) {
	t.Parallel()
	f := newFakeLab(t)
	f.change = func(l *record.Lab) { l.Members[1].Role = "primary" }
	r, dir := labRun(t, f, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		file, err := os.OpenFile(f.log, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer file.Close()
		if _, err := file.WriteString("connection mongodb://plimsoll:" + labPassword + "@h/ received\nverifier of " + ownSecret + " made\nchanged to \"host=h password=pass-of-others user=x\"\n"); err != nil {
			t.Error(err)
		}
	}, nil)
	if r.Target.Address != "lab:three" || r.Specification.Target != "lab:three" || r.Target.Level != "durable" || r.Target.Topology != "gateway before 2 members" {
		t.Errorf("target %+v of %q", r.Target, r.Specification.Target)
	}
	if r.Lab == nil || r.LabAfter == nil || r.Lab.Members[1].Role != "secondary" || r.LabAfter.Members[1].Role != "primary" {
		t.Fatalf("before %+v, after %+v", r.Lab, r.LabAfter)
	}
	for _, want := range [][2]string{{"host:three/host1", "cpu.used"}, {"host:three/host1", "disk.write_bytes"}, {"host:three/host2", "memory.resident"}, {"member:three/rs0-2", "replication.lag_bytes"}} {
		if !slices.ContainsFunc(r.Series, func(s record.Series) bool { return s.Source == want[0] && s.Name == want[1] }) {
			t.Errorf("no series %s of %s", want[1], want[0])
		}
	}
	for _, id := range []string{"lab-changed", "lab-lag", "lab-level", "shared-machine", "host-limited"} {
		if !has(r.Validity, id) {
			t.Errorf("no finding %s among %+v", id, r.Validity)
		}
	}
	if has(r.Validity, "lab-fault") {
		t.Error("a fault of an hour ago counts")
	}
	if !f.closed {
		t.Error("the lab was not closed")
	}
	if text := logOf(t, dir, "rs0-1"); text != "connection mongodb://plimsoll:***@h/ received\nverifier of *** made\nchanged to \"host=h password=*** user=x\"\n" {
		t.Errorf("the log of rs0-1 is %q", text)
	}
	if !slices.ContainsFunc(r.Files, func(f record.File) bool { return f.Name == "logs/rs0-1.log.zst" }) {
		t.Errorf("files %+v", r.Files)
	}
	if all := everything(t, dir); strings.Contains(all, labPassword) {
		t.Error("the password of the lab is in the record")
	}
}

// What breaks in a lab while a run goes on is an event of its course, and a reason to doubt it.
func TestFaultDuringARun(t *testing.T) {
	t.Parallel()
	f := newFakeLab(t)
	f.event = true
	r, dir := labRun(t, f, func() {}, nil)
	events, err := record.Events(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(events, func(e measure.Event) bool { return e.Kind == "fault" && e.Text == "power-off of host2" && e.At > 0 }) {
		t.Errorf("events %+v", events)
	}
	if !has(r.Validity, "lab-fault") {
		t.Errorf("no finding lab-fault among %+v", r.Validity)
	}
}

// The diagnostic data of a lab's mongod are in the record, unless that is not wanted.
func TestDiagnosticDataOfALab(t *testing.T) {
	t.Parallel()
	for skip, want := range map[bool]int{false: 1, true: 0} {
		t.Run(fmt.Sprintf("skipped %v", skip), func(t *testing.T) {
			t.Parallel()
			f := newFakeLab(t)
			data := t.TempDir()
			f.change = func(l *record.Lab) {
				l.Members[0].Kind, l.Members[0].Settings = "mongod", map[string]string{"storage.dbPath": data}
			}
			atEnd := func() {
				dir := filepath.Join(data, "diagnostic.data")
				if err := errors.Join(os.Mkdir(dir, 0o700),
					os.WriteFile(filepath.Join(dir, "metrics.2026-01-01"), []byte("samples"), 0o600)); err != nil {
					t.Error(err)
				}
			}
			var change func(*spec.Run)
			if skip {
				change = func(s *spec.Run) { s.Observe = &spec.Observe{SkipDiagnosticData: true} }
			}
			r, dir := labRun(t, f, atEnd, change)
			found, err := filepath.Glob(filepath.Join(dir, record.DiagnosticsDir, "rs0-1", "metrics.*"))
			listed := slices.ContainsFunc(r.Files, func(f record.File) bool {
				return strings.HasPrefix(f.Name, record.DiagnosticsDir)
			})
			if err != nil || len(found) != want || listed != (want > 0) {
				t.Errorf("the record has %v, %+v (%v)", found, r.Files, err)
			}
		})
	}
}

func logOf(t *testing.T, dir, member string) string {
	t.Helper()
	file, err := os.Open(filepath.Join(dir, record.LogsDir, member+".log.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := zstd.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// everything is the text of all files of a record that are text.
func everything(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	for _, name := range []string{record.RunFile, record.EventsFile} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	return b.String()
}

// A lab that is not there, and one that cannot keep the durability, are refused before anything is written.
func TestLabThatCannotBeLoaded(t *testing.T) {
	t.Parallel()
	asked := small("", func(s *spec.Run) { s.Target = "lab:gone" })
	gone := Options{Lab: func(context.Context, string) (Lab, error) { return nil, errors.New("no lab of that name is running") }}
	if stage, err := stageOf(t, asked, gone); stage != Reaching || !strings.Contains(err.Error(), "plimsoll lab list") {
		t.Errorf("%s: %v", stage, err)
	}
	if stage, err := stageOf(t, asked, Options{}); stage != Specification {
		t.Errorf("%s: %v", stage, err)
	}
	asked.Durability.W = "9"
	f := newFakeLab(t)
	small := Options{Lab: func(context.Context, string) (Lab, error) { return f, nil }}
	if stage, err := stageOf(t, asked, small); stage != Specification || !strings.Contains(err.Error(), "9 members") || !f.closed {
		t.Errorf("%s: %v, closed: %v", stage, err, f.closed)
	}
	if _, err := ParseTarget("lab:No Such"); err == nil || !strings.Contains(err.Error(), "lab:NAME") {
		t.Errorf("a name that no lab can have: %v", err)
	}
}

// One of several load processes is told where the lab was found, and looks at nothing of it.
func TestLabIsFoundOnce(t *testing.T) {
	t.Parallel()
	f := newFakeLab(t)
	asked := small("", func(s *spec.Run) {
		s.Target, s.LoadPhase.Skip, s.Load = "lab:three", true, spec.Load{Workers: 1, Operations: 50}
	})
	dir := filepath.Join(t.TempDir(), "record")
	r, err := Execute(t.Context(), asked, Options{Dir: dir,
		Share: &Share{Address: f.uri, Client: 1, Clients: 2, Whole: asked.Load}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Target.Address != "lab:three" || r.Lab != nil || r.Phase(load.PhaseMeasure) == nil {
		t.Errorf("target %+v, lab %+v", r.Target, r.Lab)
	}
}

func TestAddressOfAMember(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ uri, want string }{
		{"mongodb://u:p@a:1,b:2/?replicaSet=rs0", "mongodb://u:p@m:9/?directConnection=true"},
		{"mongodb://a:1/admin?authSource=admin&replicaset=x", "mongodb://m:9/admin?authSource=admin&directConnection=true"},
		{"mongodb://a:1", "mongodb://m:9/?directConnection=true"},
		{"mongodb+srv://u:p@a/?srvMaxHosts=2", "mongodb://u:p@m:9/?tls=true&authSource=admin&directConnection=true"},
		{"mongodb+srv://a/?tls=false", "mongodb://m:9/?tls=false&directConnection=true"},
		{"http://a/", ""}, {"nonsense", ""},
	} {
		if got, err := MemberURI(c.uri, "m:9"); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", c.uri, got, err)
		}
	}
}
