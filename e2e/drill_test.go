//go:build !race

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
)

func drillOf(t *testing.T, e ended) record.Drill {
	t.Helper()
	var d record.Drill
	if err := json.Unmarshal([]byte(e.stdout), &d); err != nil {
		t.Fatalf("plimsoll %q printed no drill: %v\n%s\n%s", e.args, err, e.stdout, e.stderr)
	}
	if len(d.Rounds) == 0 {
		t.Fatalf("the drill has no rounds: %s\n%s", e.stdout, e.stderr)
	}
	return d
}

// gentle are the arguments of drills on documentdb. Each connection costs that server several processes, and each
// operation of an outage three more. Arrivals are random, and a verdict needs 20 writes in the second before the fault:
// of 60 operations in a second, 54 write on average, and fewer than 20 practically never.
var gentle = []string{"--threads", "8", "--rate", "60"}

// untilSeen runs a drill until seen returns true and its verdict is known. On a busy machine the primary may be
// replaced before the fault, or an election take longer than the load, so the next attempt has twice the times.
func untilSeen(t *testing.T, seen func(record.Drill) bool, args ...string) (record.Drill, ended) {
	t.Helper()
	return untilSeenBy(t, func(args []string) ended { return plimsoll(t, args...) }, seen, args...)
}

// untilSeenBy runs a drill by a function, as [untilSeen] does.
func untilSeenBy(t *testing.T, run func(args []string) ended, seen func(record.Drill) bool, args ...string) (
	record.Drill, ended) {
	t.Helper()
	const attempts = 5
	for n := 1; ; n++ {
		e := run(slices.Concat([]string{"drill"}, args, []string{"--format", "json"}))
		d := drillOf(t, e)
		if seen(d) && d.Verdict != record.Unknown || n == attempts || hung(d) {
			return d, e
		}
		t.Logf("attempt %d of %q does not show it: %s, %q, %+v", n, args, d.Verdict, d.Reasons, d.Rounds[0].Moments)
		if !slow(d) {
			args = longer(t, args)
		}
	}
}

// hung reports whether the verdict of a drill is unknown because a server did not answer within a limit of the drill.
// The next attempt would wait as long.
func hung(d record.Drill) bool {
	return d.Verdict == record.Unknown && slices.ContainsFunc(d.Reasons, func(why string) bool {
		return strings.Contains(why, ", the limit") && !strings.Contains(why, "redundancy after the load")
	})
}

// slow reports whether the verdict of a drill is unknown only because the machine made few writes in the second before
// the fault.
func slow(d record.Drill) bool {
	other := func(reason string) bool {
		return !strings.Contains(reason, "acknowledged in the second before the fault")
	}
	return d.Verdict == record.Unknown && !slices.ContainsFunc(d.Reasons, other)
}

// known accepts each drill whose verdict is known.
func known(record.Drill) bool { return true }

// outageEnded reports whether a drill measured an outage.
func outageEnded(d record.Drill) bool { return d.Outages != nil }

// timesOfFile finds the moments and durations in the file of a drill.
var timesOfFile = regexp.MustCompile(`\b(at|for|duration): [0-9a-z.]+`)

// longer doubles the moments and durations of the arguments of a drill.
func longer(t *testing.T, args []string) []string {
	t.Helper()
	twice := func(text string) string {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return (2 * d).String()
	}
	args = slices.Clone(args)
	for i, a := range args {
		switch {
		case i > 0 && slices.Contains([]string{"--at", "--for", "--duration"}, args[i-1]):
			args[i] = twice(a)
		case strings.HasSuffix(a, ".yaml"):
			text, err := os.ReadFile(a)
			if err != nil {
				t.Fatal(err)
			}
			text = timesOfFile.ReplaceAllFunc(text, func(b []byte) []byte {
				name, value, _ := strings.Cut(string(b), ": ")
				return []byte(name + ": " + twice(value))
			})
			args[i] = filepath.Join(t.TempDir(), filepath.Base(a))
			if err := os.WriteFile(args[i], text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return args
}

// acknowledged waits until a running drill has acknowledged n more writes.
func (c *command) acknowledged(t *testing.T, n int64) {
	t.Helper()
	told := func() int64 {
		s, err := record.ReadStatus(filepath.Join(c.dir, out))
		if err != nil || s == nil {
			return 0
		}
		return s.Writes.Acknowledged
	}
	before := told()
	c.until(t, fmt.Sprintf("%d acknowledged writes", n), func() bool { return told() >= before+n })
}

// shippedDrill returns a file with a drill of examples/ after changes: OLD, NEW, OLD, NEW, …
func shippedDrill(t *testing.T, name string, changes ...string) (file string) {
	t.Helper()
	text, err := os.ReadFile("../examples/drill/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	own := string(text)
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(own, changes[i]) {
			t.Fatalf("the drill has no %q:\n%s", changes[i], own)
		}
		own = strings.Replace(own, changes[i], changes[i+1], 1)
	}
	file = filepath.Join(t.TempDir(), name+".yaml")
	if err := os.WriteFile(file, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// has reports whether the timeline of a round has a step.
func has(r record.DrillRound, kind string) bool {
	for _, m := range r.Moments {
		if m.Kind == kind {
			return true
		}
	}
	return false
}

// TestDrill kills the primary of three members under load. With quorum commit no write is lost. With asynchronous
// replication, lost writes are listed, and found in the discarded log of the former primary.
func TestDrill(t *testing.T) {
	inTurn(t, 90)
	if _, ok := enginetest.DocumentDB(t); !ok {
		return
	}
	const name = "e2e-drill"
	labOf(t, name, lateJournal(t), "--members", "3", "--election", "elect-fast")
	t.Run("majority", func(t *testing.T) { testDrillMajority(t, name) })
	t.Run("durable", func(t *testing.T) { testDrillKept(t, name) })
	t.Run("own workload", func(t *testing.T) { testDrillOwn(t, name, notes) })
	t.Run("through a service", func(t *testing.T) { testDrillService(t, name) })
	t.Run("planned events", func(t *testing.T) {
		r, ok := testDrillEvents(t, name, "load: {rate: 60, workers: 8, duration: 12s}", "fault: index-build, at: 2s", "fault: rolling-restart, at: 4s")
		if !ok {
			t.Fatal("the engine did not answer")
		}
		testFigure(t, r, "index-build", "documents indexed", 1)
		testFigure(t, r, "rolling-restart", "members restarted", 3)
		testFigure(t, r, "rolling-restart", "elections", 1)
		plimsoll(t, "drill", "lab:"+name, "--fault", "compaction:secondary").must(t, 2)
	})
}

// TestDrillEnded has external faults, a primary that is cut off, and drills that end early: the lab reverts the faults.
// At the end the lab itself is killed and removed.
func TestDrillEnded(t *testing.T) {
	inTurn(t, 115)
	if _, ok := enginetest.DocumentDB(t); !ok {
		return
	}
	const name = "e2e-ended-drills"
	labOf(t, name, lateJournal(t), "--members", "3", "--election", "elect-fast", "--hosts", "isolated")
	t.Run("cut off", func(t *testing.T) { testDrillCutOff(t, name) })
	t.Run("external", func(t *testing.T) { testDrillExternal(t, name) })
	t.Run("stale", func(t *testing.T) { testDrillStale(t, name) })
	t.Run("client killed", func(t *testing.T) { testDrillClientKilled(t, name) })
	t.Run("interrupted", func(t *testing.T) { testDrillInterrupted(t, name) })
	t.Run("killed", func(t *testing.T) { testDrillKilled(t, name) })
	t.Run("supervisor killed", func(t *testing.T) { testDrillSupervisorKilled(t, name) })
}

func testDrillMajority(t *testing.T, name string) {
	d, e := untilSeen(t, outageEnded, append(gentle, "lab:"+name, "--fault", "kill:primary", "--at", "3s", "--for", "3s", "--duration", "15s",
		"--clients", "2", "--w", "majority", "--quiet", "--out", out)...)
	r := d.Rounds[0]
	testDrillClients(t, r)
	if d.Verdict != record.Holds || d.Status != record.Complete || r.Level != "majority" || !r.Faults[0].Hit {
		t.Errorf("the verdict is %s because of %q", d.Verdict, d.Reasons)
	}
	if r.Ledger.Inserts[record.WriteLost] != 0 || r.Ledger.Acknowledged == 0 || r.SeedsFound != 2 {
		t.Errorf("the ledger is %+v", r.Ledger)
	}
	testAllAgree(t, r, "rs0-1", "rs0-2", "rs0-3")
	for _, kind := range []string{record.MomentFault, record.MomentFirstError, record.MomentPrimaryOut,
		record.MomentElected, record.MomentFirstWrite, record.MomentHealed, record.MomentRedundant} {
		if !has(r, kind) {
			t.Errorf("the timeline has no %s: %+v", kind, r.Moments)
		}
	}
	if d.Outages == nil || d.Outages.Max < float64(100*time.Millisecond) {
		t.Errorf("the outage is %+v", d.Outages)
	}
	if s := status(t, name); len(s.Faults) != 0 {
		t.Errorf("what is broken still: %+v", s.Faults)
	}
	// Patroni and pg_rewind repair a killed PostgreSQL in a database that a lab must not lack.
	for _, m := range []string{"rs0-1", "rs0-2", "rs0-3"} {
		text := plimsoll(t, "lab", "logs", name, m, "--lines", "5000").must(t, 0).stdout
		if at := strings.Index(text, "FATAL:  database "); at >= 0 {
			t.Errorf("the log of %s has: %.200s", m, text[at:])
		}
	}
	testDrillShown(t, filepath.Join(e.dir, out))
}

// testDrillClients checks that the ledger has the writes of two load processes, and that each counts its own outage.
func testDrillClients(t *testing.T, r record.DrillRound) {
	t.Helper()
	before := map[int]float64{}
	for _, e := range r.Effects {
		if e.Class == "" {
			before[e.Client] = e.Before
		}
	}
	// The achieved rate is not tested.
	if len(before) != 3 || before[0] <= 0 || before[1] <= 0 || before[-1] < 1.2*min(before[0], before[1]) {
		t.Errorf("the operations per second of two clients were, before the fault, %v by client", before)
	}
	if r.Ledger == nil || r.Ledger.Writers != 8 {
		t.Errorf("the ledger is not that of 8 writers: %+v", r.Ledger)
	}
}

// testDrillClientKilled kills one of two load processes: its last answers are lost, so the verdict is unknown.
//
// Here and in the tests below that need any fault, a member is killed by its name: servers that get no processor time
// have no primary that a fault could find.
func testDrillClientKilled(t *testing.T, name string) {
	c := start(t, append([]string{"drill", "lab:" + name, "--fault", "kill:rs0-2", "--at", "3s", "--for", "20s", "--duration", "40s",
		"--clients", "2", "--w", "majority", "--format", "json", "--out", out}, gentle...)...)
	c.acknowledged(t, 1)
	c.until(t, "the member is killed", func() bool { return len(status(t, name).Faults) == 1 })
	r, err := record.OpenRun(filepath.Join(c.dir, out, "rounds", "1"))
	if err != nil || len(r.Clients) != 2 {
		t.Fatalf("the clients of the round are not known: %v", err)
	}
	if err := syscall.Kill(r.Clients[1].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	d := drillOf(t, c.wait(t).must(t, 6))
	x := d.Rounds[0]
	if d.Verdict != record.Unknown || !strings.Contains(strings.Join(d.Reasons, " "), "client 1 ended early") {
		t.Errorf("the verdict is %s because of %q", d.Verdict, d.Reasons)
	}
	l := x.Ledger
	if l == nil || l.Acknowledged == 0 ||
		l.Inserts[record.WriteLost]+l.Inserts[record.WriteUnexpected]+l.Updates[record.WriteUnexpected] != 0 {
		t.Errorf("the ledger is %+v", l)
	}
	if s := status(t, name); len(s.Faults) != 0 {
		t.Errorf("what is broken still: %+v", s.Faults)
	}
}

// testDrillShown prints a record in all formats.
func testDrillShown(t *testing.T, dir string) {
	t.Helper()
	if text := plimsoll(t, "show", dir).must(t, 0).stdout; !strings.Contains(text, "drill on documentdb ") ||
		!strings.Contains(text, "holds: no acknowledged write lost") || !strings.Contains(text, "outage ") {
		t.Errorf("show prints\n%s", text)
	}
	if md := plimsoll(t, "show", dir, "--format", "md").must(t, 0).stdout; !strings.HasPrefix(md, "## drill on documentdb ") || !strings.Contains(md, "holds: ") {
		t.Errorf("as Markdown it is\n%s", md)
	}
	if page := plimsoll(t, "report", dir, "-o", "-").must(t, 0).stdout; !strings.Contains(page, "rom the fault to redundancy") {
		t.Errorf("the page has no chart of phases")
	}
}

// lateJournal is the specification of a lab whose PostgreSQL flushes writes that nobody waits for every two seconds
// instead of 200 ms. Standbys receive only what is flushed, so a primary that is struck has writes that are lost,
// unless it has flushed just then.
func lateJournal(t *testing.T) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "lab.yaml")
	text := "engine: {name: documentdb, parameters: {wal_writer_delay: 2s}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// loses reports whether a drill lost writes. That none is lost is possible at an asynchronous level.
func loses(d record.Drill) bool {
	l := d.Rounds[0].Ledger
	return l != nil && l.LostWrites() > 0
}

func checkLosses(t *testing.T, d record.Drill) {
	t.Helper()
	l := d.Rounds[0].Ledger
	if l.LostWrites() == 0 || len(l.Lost) == 0 || l.Lost[0].ID == "" || len(l.LostRanges) == 0 || l.LossWindow < 0 {
		t.Errorf("under asynchronous replication %d writes are lost, and these are named: %+v", l.LostWrites(), l)
	}
}

// testDrillCutOff cuts off the host of the primary: connections hang, another member is promoted, and writes that only
// the former primary had are listed.
func testDrillCutOff(t *testing.T, name string) {
	promotes := func(d record.Drill) bool { return loses(d) && has(d.Rounds[0], record.MomentElected) }
	d, _ := untilSeen(t, promotes, append(gentle, "lab:"+name, "--fault", "cut:primary", "--at", "3s", "--for", "32s", "--duration", "37s",
		"--durability", "balanced", "--quiet")...)
	r := d.Rounds[0]
	if d.Verdict != record.Holds || r.Mode() != "black-hole" || !has(r, record.MomentPrimaryOut) ||
		!has(r, record.MomentElected) {
		t.Errorf("the verdict is %s because of %q, the mode %q, the timeline %+v", d.Verdict, d.Reasons, r.Mode(), r.Moments)
	}
	checkLosses(t, d)
}

// startExternal starts an external drill and returns when its load runs. Ctrl-C ends it.
func startExternal(t *testing.T, name string, args ...string) *command {
	t.Helper()
	c := start(t, slices.Concat([]string{"drill", "lab:" + name, "--external", "--duration", "30m", "--format", "json", "--out", out}, gentle,
		args)...)
	c.acknowledged(t, 100)
	return c
}

// endExternal ends an external drill and returns its round.
func (c *command) endExternal(t *testing.T) record.DrillRound {
	t.Helper()
	c.signal(t, os.Interrupt)
	return drillOf(t, c.wait(t).must(t, 130)).Rounds[0]
}

// testDrillExternal kills the primary itself and marks the fault.
func testDrillExternal(t *testing.T, name string) {
	c := startExternal(t, name, "--w", "majority")
	old := ""
	until(t, "there is a primary", func() bool { old = primary(t, name); return old != "" })
	c.signal(t, syscall.SIGUSR1)
	plimsoll(t, "lab", "fail", name, "kill", old).must(t, 0)
	until(t, "another one is promoted", func() bool { now := primary(t, name); return now != "" && now != old })
	plimsoll(t, "lab", "revert", name, "--all").must(t, 0)
	c.signal(t, syscall.SIGUSR1)
	c.acknowledged(t, 100)
	r := c.endExternal(t)
	testAllAgree(t, r, "rs0-1", "rs0-2", "rs0-3")
	if f := r.Faults; len(f) != 1 || f[0].Healed <= f[0].Injected || r.Headline() == nil || r.Headline().Outage <= 0 {
		t.Errorf("the marked fault is %+v, its effect %+v", f, r.Headline())
	}
}

// testDrillStale lets a standby receive but not apply what is written: the audit finds that it is stale.
func testDrillStale(t *testing.T, name string) {
	until(t, "all members are back", func() bool { return standbys(t, name) == 2 })
	still := secondary(t, name)
	signalTo(t, name, still, replayer, syscall.SIGSTOP)
	defer func() { signalTo(t, name, still, replayer, syscall.SIGCONT) }()
	states := memberStates(startExternal(t, name, "--w", "majority").endExternal(t))
	if got := states[still]; got.State != record.MemberStale || got.Missing == 0 || got.Behind == "" || got.Extra != 0 {
		t.Errorf("%s, whose replay stands still, is %+v", still, got)
	}
	for name, got := range states {
		if name != still && name != "final" && got.State != record.MemberAgrees {
			t.Errorf("%s is %+v", name, got)
		}
	}
}

func testDrillInterrupted(t *testing.T, name string) {
	c := start(t, append([]string{"drill", "lab:" + name, "--fault", "kill:rs0-2", "--at", "3s", "--for", "10m", "--duration", "11m",
		"--w", "majority", "--format", "json", "--out", out}, gentle...)...)
	c.until(t, "the member is killed", func() bool { return len(status(t, name).Faults) == 1 })
	testDrillStatus(t, filepath.Join(c.dir, out))
	c.signal(t, syscall.SIGINT)
	d := drillOf(t, c.wait(t).must(t, 130))
	if d.Status != record.Interrupted || d.Rounds[0].Ledger == nil || d.Rounds[0].Ledger.Acknowledged == 0 {
		t.Errorf("an interrupted drill is %s with %+v", d.Status, d.Rounds[0].Ledger)
	}
	if s := status(t, name); len(s.Faults) != 0 {
		t.Errorf("what is broken still: %+v", s.Faults)
	}
}

// testDrillStatus checks that a drill with a dead member shows this while it runs.
func testDrillStatus(t *testing.T, dir string) {
	t.Helper()
	until(t, "the drill says that the fault is in place", func() bool {
		s, err := record.ReadStatus(dir)
		return err == nil && s != nil && s.Stage().Stage == record.StageBroken && s.Writes.Acknowledged > 0
	})
	if page := plimsoll(t, "report", dir, "-o", "-").must(t, 0).stdout; !strings.Contains(page, "Round 1 of 1, now") ||
		!strings.Contains(page, "fault injected: kill:rs0-2") {
		t.Errorf("the page of a drill that goes on does not say what it is at")
	}
}

func testDrillKilled(t *testing.T, name string) {
	c := start(t, append([]string{"drill", "lab:" + name, "--fault", "kill:rs0-2", "--at", "2s", "--for", "15s", "--duration", "90s", "--w", "majority",
		"--out", out}, gentle...)...)
	c.until(t, "the member is killed", func() bool { return len(status(t, name).Faults) == 1 })
	c.signal(t, syscall.SIGKILL)
	e := c.wait(t)
	text := plimsoll(t, "show", filepath.Join(e.dir, out)).must(t, 130).stdout
	if !strings.Contains(text, "unknown (killed)") {
		t.Errorf("a killed drill is shown as\n%s", text)
	}
	until(t, "the lab heals by itself", func() bool { return len(status(t, name).Faults) == 0 })
}

// TestDrillLyingDisk uses a disk that acknowledges flushes without effect, and cuts its power.
func TestDrillLyingDisk(t *testing.T) {
	inTurn(t, 20)
	if _, ok := enginetest.DocumentDB(t); !ok {
		return
	}
	file := shippedDrill(t, "lying-disk", "rate: 500, duration: 30s", "rate: 60, workers: 8, duration: 12s",
		"at: 5s, for: 20s", "at: 2s, for: 9s", "at: 10s, for: 3s", "at: 4s, for: 2s")
	removeAfter(t, "drill-lying-disk")
	d, e := untilSeen(t, loses, file, "--engine", "documentdb", "--quiet")
	e.must(t, 5)
	if l := d.Rounds[0].Ledger; d.Verdict != record.Violated || l.Inserts[record.WriteLost] == 0 || l.LossWindow <= 0 {
		t.Errorf("the verdict is %s, the ledger %+v", d.Verdict, l)
	}
}

// TestDrillPowerLoss cuts the power of a member that flushes writes before it acknowledges them.
func TestDrillPowerLoss(t *testing.T) {
	inTurn(t, 25)
	if _, ok := enginetest.DocumentDB(t); !ok {
		return
	}
	file := shippedDrill(t, "power-loss-durable", "rate: 500, duration: 25s", "rate: 60, workers: 8, duration: 12s", "at: 8s, for: 3s", "at: 4s, for: 2s")
	const name = "drill-power-loss-durable"
	removeAfter(t, name)
	leaveLab(t, name, file)
	said := ""
	d, _ := untilSeenBy(t, func(args []string) ended {
		e := plimsoll(t, args...)
		said += e.stderr
		return e
	}, known, file, "--engine", "documentdb")
	if d.Verdict != record.Holds {
		t.Errorf("the verdict is %s because of %q", d.Verdict, d.Reasons)
	}
	if !strings.Contains(said, "removing the lab "+name+", which the drill in ") {
		t.Errorf("the drill does not say that it removes what the last one left:\n%s", said)
	}
}

// leaveLab kills a drill under load, and checks that its lab is listed as left.
func leaveLab(t *testing.T, name, file string) {
	t.Helper()
	c := start(t, "drill", file, "--engine", "documentdb", "--quiet", "--out", out)
	c.until(t, "the load goes on", func() bool {
		_, err := os.Stat(filepath.Join(c.dir, out, "rounds", "1", record.EventsFile))
		return err == nil
	})
	want := name + " was left by the drill in "
	labs := func() string { return strings.Join(strings.Fields(plimsoll(t, "lab", "list").must(t, 0).stdout), " ") }
	if list := labs(); strings.Contains(list, want) {
		t.Errorf("a lab that is in use is said to be left:\n%s", list)
	}
	c.signal(t, syscall.SIGKILL)
	c.wait(t)
	if list := labs(); !strings.Contains(list, want) || !strings.Contains(list, "plimsoll lab down "+name) {
		t.Errorf("the lab of a killed drill is not named:\n%s", list)
	}
}
