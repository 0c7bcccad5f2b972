package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// patience bounds what a test waits for.
const patience = 10 * time.Minute

// roleVariable makes the test binary one of the processes of a fleet.
const roleVariable = "FLEET_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "client":
		client := Agent{Local: true, Duties: testDuties}
		if err := client.Serve(context.Background(), Pipe(os.Stdin, os.Stdout)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "unlucky":
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(3)
	case "babbling":
		fmt.Println("this is not what a client says")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "mute":
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "parent":
		parent()
	case "relay":
		relay()
	}
}

// relay connects standard input and output with an address.
func relay() {
	conn, err := net.Dial("tcp", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		_, _ = io.Copy(conn, os.Stdin) // the ends of both are what the test sees
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(os.Stdout, conn)
}

func launcher(role string) Launcher {
	return func(context.Context) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleVariable+"="+role)
		return cmd
	}
}

// parent runs a fleet until it is killed, and says which processes belong to it.
func parent() {
	asked := testSpec(3)
	asked.Load.Duration = spec.Duration(10 * time.Minute)
	p := &watcher{on: func(*watcher) {}}
	_, err := Execute(context.Background(), asked, run.Options{Dir: os.Args[1], Progress: p, Now: time.Now},
		Options{Places: Processes(func(ctx context.Context) *exec.Cmd {
			cmd := launcher("client")(ctx)
			p.commands = append(p.commands, cmd)
			if len(p.commands) == 3 {
				p.on = func(p *watcher) {
					fmt.Println(p.commands[0].Process.Pid, p.commands[1].Process.Pid, p.commands[2].Process.Pid)
				}
			}
			return cmd
		})})
	fmt.Println("ended", err)
}

// watcher calls on once, at the second measured interval: the first one is in the record by then.
type watcher struct {
	on       func(*watcher)
	measured int
	commands []*exec.Cmd
	events   []measure.Event
}

func (w *watcher) Step(string)    {}
func (w *watcher) Begin(run.Plan) {}
func (w *watcher) Interval(_ measure.Dims, iv *measure.Interval) {
	if iv.Phase != load.PhaseMeasure {
		return
	}
	if w.measured++; w.measured == 2 {
		w.on(w)
	}
}
func (w *watcher) Event(e measure.Event) { w.events = append(w.events, e) }

// execute does a run and returns its record, read again.
func execute(t *testing.T, ctx context.Context, asked spec.Run, o run.Options, start Launcher) (*record.Run, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "record")
	}
	_, err := Execute(ctx, asked, o, Options{Places: Processes(start), Strict: true})
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Fatalf("the run did not end within %v", patience)
	}
	r, openErr := record.OpenRun(o.Dir)
	if openErr != nil {
		t.Fatal(errors.Join(err, openErr))
	}
	return r, err
}

// counted adds up the operations of some phases.
func counted(r *record.Run, phases ...string) (sum measure.Tally) {
	for _, name := range phases {
		if p := r.Phase(name); p != nil {
			sum = sum.Add(p.Counts)
		}
	}
	return sum
}

func finding(r *record.Run, id string) *measure.Finding {
	if i := slices.IndexFunc(r.Validity, func(f measure.Finding) bool { return f.ID == id }); i >= 0 {
		return &r.Validity[i]
	}
	return nil
}

// What the clients have in records of their own is in the record of the run, operation by operation.
func TestExecute(t *testing.T) {
	for name, change := range map[string]func(*spec.Load){
		"closed loop": func(l *spec.Load) {
			l.Pace, l.Duration, l.Warmup = 40, spec.Duration(10300*time.Millisecond), spec.Duration(time.Second)
		},
		"as fast as it can": func(l *spec.Load) { l.Pace, l.Duration, l.Operations = 0, 0, 20_001 },
		"open loop":         func(l *spec.Load) { l.Pace, l.Rate, l.Duration = 0, 300, spec.Duration(4300*time.Millisecond) },
		"constant": func(l *spec.Load) {
			l.Pace, l.Rate, l.Arrivals, l.Duration = 0, 300, "constant", spec.Duration(4*time.Second)
		},
		"operations": func(l *spec.Load) { l.Duration, l.Operations, l.Pace = 0, 1501, 100 },
		"users": func(l *spec.Load) {
			l.Workers, l.Pace, l.Duration = 1, 50, 0
			l.Stages = []spec.Stage{{Duration: spec.Duration(5 * time.Second), Workers: 9}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := testSpec(3)
			change(&spec.Load)
			spec.Defaults()
			dir := filepath.Join(t.TempDir(), "record")
			r, err := execute(t, t.Context(), spec, run.Options{Dir: dir}, launcher("client"))
			if err != nil || r.Status != record.Complete || len(r.Clients) != 3 {
				t.Fatalf("status %s, %d clients: %v", r.Status, len(r.Clients), err)
			}
			checkParts(t, dir, r)
			got := counted(r, load.PhaseMeasure, PhaseOutside)
			if spec.Load.Operations > 0 && got.Attempted != int64(spec.Load.Operations) {
				t.Errorf("%d operations were done, want %d", got.Attempted, int64(spec.Load.Operations))
			}
			if spec.Load.Arrivals == "constant" && r.Course.Offered != 1200 {
				t.Errorf("%d operations were offered in 4 s at 300/s", r.Course.Offered)
			}
			if spec.Load.Rate > 0 && (!r.Scheduled || r.Course.Offered == 0 ||
				r.Course.Offered != r.Course.Sent+r.Course.Dropped+r.Course.Unsent) {
				t.Errorf("course of an open loop: %+v", r.Course)
			}
			checkAltered(t, dir)
		})
	}
}

// checkParts compares a record with those of its clients.
func checkParts(t *testing.T, dir string, r *record.Run) {
	t.Helper()
	var measured, warm measure.Tally
	workers := 0
	for i, c := range r.Clients {
		own, err := record.OpenRun(filepath.Join(dir, filepath.FromSlash(c.Record)))
		if err != nil {
			t.Fatalf("client %+v: %v", c, err)
		}
		if c.Status != "complete" || c.Number != i || own.Status != record.Complete || finding(own, "altered") != nil {
			t.Errorf("client %d: %+v, its record is %s", i, c, own.Status)
		}
		measured, warm = measured.Add(counted(own, load.PhaseMeasure)), warm.Add(counted(own, load.PhaseWarmup))
		workers += int(own.Specification.Load.Workers)
	}
	if got := counted(r, load.PhaseMeasure, PhaseOutside); got != measured || got.Succeeded == 0 {
		t.Errorf("the record counts %+v, its clients %+v", got, measured)
	}
	if got := counted(r, load.PhaseWarmup); got != warm {
		t.Errorf("the record counts %+v in the warm-up, its clients %+v", got, warm)
	}
	if want := int(r.Specification.Load.Workers); workers != want {
		t.Errorf("the clients have %d workers, want %d", workers, want)
	}
}

// checkAltered changes a file of a client and expects that the record of the run says so.
func checkAltered(t *testing.T, dir string) {
	t.Helper()
	changed := filepath.Join(dir, "clients", "01", record.EventsFile)
	if err := os.WriteFile(changed, []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := record.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if f := finding(r, "altered"); f == nil || !strings.Contains(f.Text, "clients/01/"+record.EventsFile) {
		t.Errorf("a client's events were changed, and the record says %+v", r.Validity)
	}
}

func TestClientKilled(t *testing.T) {
	t.Parallel()
	asked := testSpec(3)
	asked.Load.Duration, asked.Load.Pace, asked.Load.Rate = spec.Duration(10*time.Minute), 0, 100
	asked.Defaults()
	w := &watcher{on: func(w *watcher) { _ = w.commands[1].Process.Kill() }}
	r, err := execute(t, t.Context(), asked, run.Options{Progress: w}, func(ctx context.Context) *exec.Cmd {
		cmd := launcher("client")(ctx)
		w.commands = append(w.commands, cmd)
		return cmd
	})
	if err != nil || r.Status != record.Complete || r.Course.EndedBy != "client-lost" {
		t.Errorf("status %s, ended by %q: %v", r.Status, r.Course.EndedBy, err)
	}
	if f := finding(r, "client-lost"); f == nil || f.Severity != measure.Invalid || !strings.Contains(f.Text, "client 1 of 3 was lost (signal: killed)") {
		t.Errorf("validity %+v", r.Validity)
	}
	for i, c := range r.Clients {
		if want := map[bool]string{true: "lost", false: "complete"}[i == 1]; c.Status != want || c.Succeeded == 0 {
			t.Errorf("client %d is %+v, want %s", i, c, want)
		}
	}
	if !slices.ContainsFunc(w.events, func(e measure.Event) bool { return e.Kind == EventLost && e.Data["client"] == "1" }) {
		t.Errorf("no event says that a client was lost: %+v", w.events)
	}
	if f := finding(r, "altered"); f != nil {
		t.Errorf("the record of a lost client looks altered: %s", f.Text)
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	asked := testSpec(2)
	asked.Load.Duration = spec.Duration(10 * time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := execute(t, ctx, asked, run.Options{Progress: &watcher{on: func(*watcher) { cancel() }}}, launcher("client"))
	if !errors.Is(err, context.Canceled) || r.Status != record.Interrupted || r.Course.EndedBy != "interrupt" ||
		counted(r, load.PhaseMeasure).Succeeded == 0 {
		t.Errorf("status %s, ended by %q: %v", r.Status, r.Course.EndedBy, err)
	}
	for i, c := range r.Clients {
		if c.Status != "complete" {
			t.Errorf("client %d: %+v", i, c)
		}
	}
}

// A load that need not go on ends as planned in every client: with a second of theirs.
func TestEnough(t *testing.T) {
	t.Parallel()
	asked := testSpec(2)
	asked.Load.Duration = spec.Duration(time.Hour)
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	w := &watcher{on: func(*watcher) { end(load.ErrEnough) }}
	r, err := execute(t, ctx, asked, run.Options{Progress: w}, launcher("client"))
	if err != nil || r.Status != record.Complete || r.Course.EndedBy != "duration" || finding(r, "interrupted") != nil {
		t.Fatalf("%v: status %s, ended by %s, findings %+v", err, r.Status, r.Course.EndedBy, r.Validity)
	}
	for _, c := range r.Clients {
		if c.Status != "complete" {
			t.Errorf("client %d is %s: %s", c.Number, c.Status, c.Problem)
		}
	}
}

func TestAborted(t *testing.T) {
	t.Parallel()
	asked := testSpec(2)
	asked.Load.Duration = spec.Duration(10 * time.Minute)
	abort := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &watcher{on: func(*watcher) { cancel(); close(abort) }}
	r, err := execute(t, ctx, asked, run.Options{Progress: w, Abort: abort}, launcher("client"))
	if r.Status != record.Interrupted || finding(r, "client-lost") != nil {
		t.Errorf("status %s, validity %+v: %v", r.Status, r.Validity, err)
	}
}

func TestInterruptedBeforeTheStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, err := execute(t, ctx, testSpec(2), run.Options{}, func(ctx context.Context) *exec.Cmd {
		cancel() // while the clients are being started
		return launcher("client")(ctx)
	})
	if !errors.Is(err, context.Canceled) || r.Status != record.Interrupted || r.Phase(load.PhaseMeasure) != nil {
		t.Errorf("status %s: %v", r.Status, err)
	}
}

// Clients that cannot do their part end the run with an error that says why.
func TestUselessClients(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		launch Launcher
		want   string
	}{
		"ends at once":   {launcher("unlucky"), "ended before the load began: exit status 3: out of luck"},
		"babbles":        {launcher("babbling"), "ended before the load began"},
		"does not exist": {func(context.Context) *exec.Cmd { return exec.Command("/does/not/exist") }, "cannot start client 0 of 2"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := execute(t, t.Context(), testSpec(2), run.Options{}, c.launch)
			if err == nil || !strings.Contains(err.Error(), c.want) || r.Status != record.Failed {
				t.Errorf("status %s: %v", r.Status, err)
			}
		})
	}
}

// A client that cannot keep its record says so in the words of a run.
func TestClientFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "record")
	r, err := execute(t, t.Context(), testSpec(2), run.Options{Dir: dir}, func(ctx context.Context) *exec.Cmd {
		own := filepath.Join(dir, "clients", "01")
		if err := errors.Join(os.MkdirAll(own, 0o755), os.WriteFile(filepath.Join(own, record.RunFile), nil,
			0o644)); err != nil {
			t.Error(err)
		}
		return launcher("client")(ctx)
	})
	if err == nil || !strings.Contains(err.Error(), "client 1: ") ||
		!strings.Contains(err.Error(), "already holds a record") || r.Status != record.Failed {
		t.Errorf("status %s: %v", r.Status, err)
	}
}

// A client that stands still is given up.
func TestSilentClient(t *testing.T) {
	tm := newCoordinator(testSpec(2), run.Options{Dir: t.TempDir()}, Options{}, processes{launcher("mute")}, &pids{})
	tm.begin(nopSink{})
	tm.startAll(t.Context())
	tm.started = time.Now()
	for range silentAtMost + 1 {
		tm.watch()
	}
	for tm.alive() {
		select {
		case r := <-tm.reports:
			tm.receive(r)
		case <-time.After(patience):
			t.Fatal("a silent client was not ended")
		}
	}
	if shares := tm.shares(); shares[0].Status != "lost" || !strings.Contains(shares[0].Problem, "did not respond for 30 s") {
		t.Errorf("clients %+v", shares)
	}
	if left := tm.living.list(); len(left) != 0 {
		t.Errorf("processes %v still count as living", left)
	}
}

type nopSink struct{}

func (nopSink) Interval(*measure.Interval) error { return nil }
func (nopSink) Event(measure.Event) error        { return nil }
func (nopSink) Dims() measure.Dims               { return testDims(false) }
func (nopSink) Begin(time.Time) error            { return nil }
func (nopSink) Clients([]record.ClientShare)     {}

func TestWithoutLauncher(t *testing.T) {
	_, err := Execute(t.Context(), testSpec(2), run.Options{Dir: t.TempDir()}, Options{})
	var e *run.Error
	if !errors.As(err, &e) || e.Stage != run.Specification {
		t.Errorf("error %v", err)
	}
}

// A client whose input ends stops its load and returns.
func TestOrphan(t *testing.T) {
	t.Parallel()
	in, toClient := io.Pipe()
	fromClient, out := io.Pipe()
	asked := testSpec(1)
	asked.Load.Duration = spec.Duration(10 * time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- Agent{Local: true}.Serve(t.Context(), Pipe(in, out)); out.Close() }()
	say := func(c command) {
		if err := json.NewEncoder(toClient).Encode(c); err != nil {
			t.Error(err)
		}
	}
	say(command{Order: &order{Spec: asked, Whole: asked.Load, Dir: filepath.Join(t.TempDir(), "record"), Clients: 2,
		Turns: workload.Turns{Cycle: 2, Mine: []int{1}}, Number: 1}})
	lines := json.NewDecoder(bufio.NewReader(fromClient))
	heard := false
	for {
		var m message
		if err := lines.Decode(&m); err != nil {
			break
		}
		if m.Ready {
			say(command{Start: time.Now().UnixNano()})
		}
		if m.Interval != nil && !heard {
			heard = true
			toClient.Close()
		}
	}
	select {
	case err := <-ended:
		if err == nil || !heard {
			t.Errorf("the client ended with %v, it measured: %v", err, heard)
		}
	case <-time.After(patience):
		t.Fatal("the client outlives its parent")
	}
}

func TestServeWithoutOrder(t *testing.T) {
	for _, text := range []string{"", "nonsense", `{"start":5}`} {
		if err := (Agent{}).Serve(t.Context(), Pipe(strings.NewReader(text), io.Discard)); err == nil ||
			!strings.Contains(err.Error(), "order") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
