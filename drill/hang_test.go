package drill

import (
	"cmp"
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/drill/ledger"
	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// hangingLab is a lab of one member, of which a call hangs after the load.
type hangingLab struct {
	Lab
	proxy, member *hangingProxy // of the whole, and of the member when it is read directly
	call          string        // that hangs
	degraded      bool
	process       *exec.Cmd // that a fault kills, so that it has an effect

	mu       sync.Mutex
	after    bool // the load
	faults   []record.LabFault
	once     sync.Once
	seen     chan struct{} // closed when the call hangs
	repairs  sync.Once
	repaired chan struct{} // closed when a volume is to be rebuilt
}

// called hangs after the load in the chosen call.
func (l *hangingLab) called(ctx context.Context, name string) error {
	l.mu.Lock()
	hangs := l.after && l.call == name
	l.mu.Unlock()
	if !hangs {
		return nil
	}
	l.once.Do(func() { close(l.seen) })
	<-ctx.Done()
	return ctx.Err()
}

func (l *hangingLab) Name() string { return "h" }

func (l *hangingLab) Describe(ctx context.Context, deep bool) (record.Lab, error) {
	if err := l.called(ctx, "describe"); err != nil {
		return record.Lab{}, err
	}
	return l.state(), nil
}

func (l *hangingLab) Observe(ctx context.Context) (record.Lab, error) {
	if err := l.called(ctx, "observe"); err != nil {
		return record.Lab{}, err
	}
	return l.state(), nil
}

func (l *hangingLab) state() record.Lab {
	l.mu.Lock()
	defer l.mu.Unlock()
	kind := "mongod"
	if l.call == "read member" {
		kind = "postgres"
	}
	out := record.Lab{Name: "h", Faults: l.faults, Members: []record.LabMember{{Name: "rs0-1", Set: "rs0", Kind: kind, Host: "host1",
		Role: "primary", State: "running", Address: l.member.address, PIDs: []int{l.process.Process.Pid}}}}
	if l.after && l.degraded {
		out.Volumes = []record.LabVolume{{Name: "v1", Health: "degraded"}}
	}
	return out
}

func (l *hangingLab) Address(context.Context, spec.Durability) (run.LabAddress, error) {
	return run.LabAddress{URI: "mongodb://" + l.proxy.address + "/?directConnection=true"}, nil
}

func (l *hangingLab) Counters(context.Context) (action.Counters, error) {
	return action.Counters{}, nil
}

func (l *hangingLab) Usage(ctx context.Context) ([]record.LabUsage, error) {
	return nil, l.called(ctx, "usage")
}

func (l *hangingLab) EventsSince(ctx context.Context, _ int64) ([]record.LabEvent, error) {
	return nil, l.called(ctx, "events")
}

func (l *hangingLab) Repair(ctx context.Context, _ string) (string, error) {
	l.repairs.Do(func() { close(l.repaired) })
	return "", l.called(ctx, "repair")
}

func (l *hangingLab) ReadMember(ctx context.Context, _ string) (*lab.MemberReading, error) {
	return nil, l.called(ctx, "read member")
}

func (l *hangingLab) ReadBackup(ctx context.Context, _ string) (*lab.MemberReading, error) {
	return nil, l.called(ctx, "read backup")
}

func (l *hangingLab) Fail(ctx context.Context, f spec.Fault, _ time.Duration) (record.LabFault, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := record.LabFault{Action: f.Action.Name, Target: "rs0-1"}
	if f.Action.Name != fault.Backup {
		one.ID = 1
		l.faults = []record.LabFault{one}
		_ = l.process.Process.Kill()
		_ = l.process.Wait()
	}
	return one, nil
}

func (l *hangingLab) Heal(ctx context.Context, _ lab.Healing) ([]record.LabFault, error) {
	if err := l.called(ctx, "heal"); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = nil
	return nil, nil
}

func (l *hangingLab) Close() error { return nil }

// begins notes the end of the load, after which the server or the lab hangs.
type begins struct {
	silent
	hang func()
	note func(text string)
}

func (b begins) Note(text string) {
	if text == "waiting until redundancy is restored" {
		b.hang()
	}
	b.note(text)
}

// hangCase is one place at which a drill waits after its load.
type hangCase struct {
	name string
	hold func(bson.Raw) bool // commands through the address of the lab
	read func(bson.Raw) bool // commands on the member
	call string              // of the lab
	// fault is a line of YAML, and degraded a volume that has to be rebuilt.
	fault    string
	degraded bool
	length   time.Duration // of the load; 600 ms if it is 0
	// documents are of others, in the collection of the ledger.
	documents int
	want      string // in the reasons of the verdict
}

const stays = `{fault: "kill:rs0-1", at: 100ms, stay: true}`

var hangCases = []hangCase{
	{name: "write before the final read", hold: command("insert", seedCollection), want: "begin of the final read through"},
	{name: "final read", hold: command("find", ledger.DefaultCollection), want: "final read through"},
	{name: "batch of the final read", hold: command("getMore", ""), documents: scanBatch, want: "final read through"},
	{name: "seeds", hold: command("find", seedCollection), want: "seed documents"},
	{name: "member", read: command("find", ledger.DefaultCollection), want: "read of rs0-1 through rs0-1"},
	{name: "state of the lab", call: "observe", want: "redundancy after the load"},
	{name: "volumes of the lab", call: "describe", want: "volumes of the lab h"},
	{name: "events of the lab", call: "events", want: "events of the lab h"},
	{name: "resources of the lab", call: "usage", want: "use of resources of the lab h"},
	{name: "rebuild", call: "repair", degraded: true, want: "rebuild of volume v1"},
	{name: "redundancy", degraded: true, want: "volume v1 is degraded"},
	{name: "reader of a member", call: "read member", want: "start of a server that reads rs0-1"},
	{name: "backup", call: "read backup", fault: `{fault: "backup:rs0-1", at: 100ms}`, want: "restore of the backup of rs0-1"},
	{name: "revert", call: "heal", fault: stays, want: "revert of kill:rs0-1"},
}

// hangPatience is the limit of every wait of these drills. Those that end by themselves need less on a busy machine.
const hangPatience = 3 * time.Second

// A drill whose server or lab takes a request after the load and never answers it ends within its limit, with a verdict
// that says what did not answer and what it was doing; and at the first interrupt.
func TestDrillDoesNotWaitForEver(t *testing.T) {
	set := enginetest.StartSet(t, enginetest.StandinMongo(t, "8.0.12"), 1)
	for _, c := range hangCases {
		t.Run(c.name+"/limit", func(t *testing.T) {
			t.Parallel()
			h := newHanging(t, set.Addresses[0], c)
			d, notes := h.drill(t, t.Context(), hangPatience)
			h.check(t, d, c.want)
			if !strings.Contains(notes, c.want) || !strings.Contains(notes, "times out after") {
				t.Errorf("while it waited it said:\n%s", notes)
			}
			checkParts(t, c.name, h.parts)
			if c.hold != nil && !strings.Contains(strings.Join(d.Rounds[0].Reasons, "\n"), "held.here for 38 s, waiting for a lock") {
				t.Errorf("the reasons do not say what the server did: %q", d.Rounds[0].Reasons)
			}
		})
		t.Run(c.name+"/interrupt", func(t *testing.T) {
			t.Parallel()
			h := newHanging(t, set.Addresses[0], c)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { <-h.waits(); cancel() }()
			d, _ := h.drill(t, ctx, time.Hour)
			h.check(t, d, c.want)
			if d.Status != record.Interrupted {
				t.Errorf("the drill is %s", d.Status)
			}
		})
	}
}

// checkParts checks that a drill told how far its recovery and its audit were.
func checkParts(t *testing.T, name string, parts []wait.Part) {
	t.Helper()
	told := func(begin string, is func(wait.Part) bool) bool {
		return slices.ContainsFunc(parts, func(p wait.Part) bool { return strings.HasPrefix(p.Name, begin) && is(p) })
	}
	if name == "redundancy" && !told("redundancy after the load", func(p wait.Part) bool {
		return p.Limit == hangPatience && p.Status == "volume v1 is degraded"
	}) {
		t.Errorf("the recovery told %+v", parts)
	}
	if name == "batch of the final read" && !told("audit: final read", func(p wait.Part) bool {
		return p.Done == countedEvery && p.Of == "documents"
	}) {
		t.Errorf("the audit told %+v", parts)
	}
}

// A server that answers late, but within the limit, is not given up, and nothing is held against it.
func TestSlowServerIsNotGivenUp(t *testing.T) {
	set := enginetest.StartSet(t, enginetest.StandinMongo(t, "8.0.12"), 1)
	h := newHanging(t, set.Addresses[0], hangCase{hold: command("find", ledger.DefaultCollection),
		fault: `{fault: "kill:rs0-1", at: 2s, for: 100ms}`, length: 3 * time.Second}) // enough writes before the fault on a busy machine
	h.said = func(text string) {
		if strings.Contains(text, "times out after") {
			h.lab.proxy.releases()
		}
	}
	d, notes := h.drill(t, t.Context(), 24*time.Second)
	if d.Verdict != record.Holds || !regexp.MustCompile(`: no answer for \d+ s, times out after 24 s\. `).MatchString(notes) {
		t.Errorf("an honest server is %s: %q\n%s", d.Verdict, d.Rounds[0].Reasons, notes)
	}
}

type hanging struct {
	hangCase
	lab  *hangingLab
	said func(note string)
	// parts are what the drill told of its long waits.
	parts []wait.Part
}

func newHanging(t *testing.T, server string, c hangCase) *hanging {
	t.Helper()
	process := exec.Command("sleep", "1000")
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Process.Kill(); _ = process.Wait() }) // the fault may have done so
	return &hanging{hangCase: c, lab: &hangingLab{proxy: newHangingProxy(t, server),
		process: process, member: newHangingProxy(t, server), call: c.call, degraded: c.degraded, seen: make(chan struct{}),
		repaired: make(chan struct{})}}
}

// waits is closed when the drill waits for what hangs.
func (h *hanging) waits() <-chan struct{} {
	switch {
	case h.hold != nil:
		return h.lab.proxy.seen
	case h.read != nil:
		return h.lab.member.seen
	case h.call != "":
		return h.lab.seen
	}
	return h.lab.repaired // so it knows what redundancy lacks
}

// hang begins when the load is over.
func (h *hanging) hang() {
	h.lab.mu.Lock()
	again := h.lab.after
	h.lab.after = true
	h.lab.mu.Unlock()
	if !again {
		h.lab.proxy.hangs(h.hold)
		h.lab.member.hangs(h.read)
	}
}

func (h *hanging) drill(t *testing.T, ctx context.Context, patience time.Duration) (*record.Drill, string) {
	t.Helper()
	database := "d" + strings.TrimPrefix(h.lab.proxy.address, "127.0.0.1:")
	h.insertOthers(t, database)
	fault := h.fault
	if fault == "" {
		fault = `{fault: "kill:rs0-1", at: 100ms, for: 100ms}`
	}
	recovery := min(patience, time.Minute)
	asked, err := spec.ReadDrill(strings.NewReader(`
run:
  target: lab:h
  load: {rate: 400, workers: 4, warmup: 0s, duration: ` + cmp.Or(h.length, 600*time.Millisecond).String() + `}
  database: ` + database + `
faults: [` + fault + `]
recovery: ` + recovery.String()))
	if err == nil {
		err = asked.Complete()
	}
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var notes []string
	ctx = wait.Listen(ctx, wait.Listener{Part: func(p wait.Part) {
		mu.Lock()
		defer mu.Unlock()
		h.parts = append(h.parts, p)
	}})
	d, err := Run(ctx, asked, Options{Dir: filepath.Join(t.TempDir(), "record"), Patience: patience,
		Open: func(context.Context, string) (Lab, error) { return h.lab, nil },
		Progress: begins{hang: h.hang, note: func(text string) {
			mu.Lock()
			defer mu.Unlock()
			notes = append(notes, text)
			if h.said != nil {
				h.said(text)
			}
		}}})
	if d == nil || len(d.Rounds) != 1 {
		t.Fatalf("the drill is %+v: %v", d, err)
	}
	return d, strings.Join(notes, "\n")
}

// insertOthers inserts documents that are not of the drill, so that the final read takes several batches.
func (h *hanging) insertOthers(t *testing.T, database string) {
	t.Helper()
	if h.documents == 0 {
		return
	}
	client, err := platform.Connect("mongodb://"+h.lab.proxy.server+"/?directConnection=true", options.Client())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var list []any
	for n := range h.documents {
		list = append(list, bson.D{{Key: "_id", Value: n}})
	}
	if _, err := client.Database(database).Collection(ledger.DefaultCollection).InsertMany(t.Context(), list); err != nil {
		t.Fatal(err)
	}
}

func (h *hanging) check(t *testing.T, d *record.Drill, want string) {
	t.Helper()
	if d.Verdict != record.Unknown || !strings.Contains(strings.Join(d.Rounds[0].Reasons, "\n"), want) {
		t.Errorf("the verdict is %s, and the reasons lack %q: %q (%q)", d.Verdict, want, d.Rounds[0].Reasons, d.Rounds[0].Problem)
	}
	if measure.Worst(d.Validity) == measure.Invalid {
		t.Errorf("findings: %+v", d.Validity)
	}
}
