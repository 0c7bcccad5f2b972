//go:build !race

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/measure/limit"
	"github.com/plimsoll-bench/plimsoll/record"
)

// valid accepts doubtful results, because other tests use the machine.
func (e ended) valid(t *testing.T) *record.Run {
	t.Helper()
	if e.code != 0 && e.code != 6 {
		t.Fatalf("it ended with %d\n%s\n%s", e.code, e.stdout, e.stderr)
	}
	return e.onDisk(t)
}

func (e ended) onDisk(t *testing.T) *record.Run {
	t.Helper()
	r, err := record.OpenRun(filepath.Join(e.dir, out))
	if err != nil {
		t.Fatalf("%v\n%s", err, e.stderr)
	}
	return r
}

// TestRunOfALab loads a set of three members through the gateway of a durability level, with one and two processes, and
// checks the lab and the use of its hosts in the record.
func TestRunOfALab(t *testing.T) {
	inTurn(t, 30)
	if _, ok := enginetest.DocumentDB(t); !ok {
		return
	}
	const name = "e2e-run"
	l := labOf(t, name, "--engine", engine.DocumentDB, "--members", "3", "--election", "elect-fast", "--auth")
	uri := address(t, name)
	password := strings.SplitN(strings.SplitN(uri, "@", 2)[0], ":", 3)[2]
	load := []string{"run", "lab:" + name, "--workload", "a", "--records", "300", "--threads", "2", "--durability", "durable", "--quiet", "--out", out}

	e := plimsoll(t, append(load, "--duration", "6s", "--verbose")...)
	r := e.valid(t)
	checkLabOfRun(t, r, name, l)
	testNoPassword(t, name, password, filepath.Join(e.dir, out))
	if !strings.Contains(e.stdout, "lab         "+name+": 3 hosts (plain), documentdb") {
		t.Errorf("the result does not say what the lab was:\n%s", e.stdout)
	}
	page := filepath.Join(e.dir, "report.html")
	plimsoll(t, "report", filepath.Join(e.dir, out), "-o", page).must(t, 0)
	if b, err := os.ReadFile(page); err != nil || !strings.Contains(string(b), `<section id="lab"`) ||
		strings.Contains(string(b), password) {
		t.Errorf("the report has no lab in it, or its password: %v", err)
	}

	e = plimsoll(t, append(load, "--operations", "200", "--clients", "2")...)
	// The phase has the time that both processes share; other time counts for its process only.
	if r := e.valid(t); r.Lab == nil || len(r.Clients) != 2 || r.Clients[0].Succeeded+r.Clients[1].Succeeded != 200 {
		t.Errorf("with two processes: lab %v, clients %+v", r.Lab != nil, r.Clients)
	}
	testNoPassword(t, name, password, filepath.Join(e.dir, out))

	if e := plimsoll(t, "run", "lab:"+name, "--w", "9", "--quiet", "--out", out).must(t, 2); !strings.Contains(e.stderr, "the lab has 3 members") {
		t.Errorf("w: 9 is refused with %q", e.stderr)
	}
	if e := plimsoll(t, "run", "lab:e2e-nowhere", "--quiet", "--out", out).must(t, 2); !strings.Contains(e.stderr, "plimsoll lab list") {
		t.Errorf("a lab that is not there is refused with %q", e.stderr)
	}
	testFaultInCourse(t, name, l, load)
}

// checkLabOfRun checks the lab in a record.
func checkLabOfRun(t *testing.T, r *record.Run, name string, l record.Lab) {
	t.Helper()
	if r.Target.Address != "lab:"+name || r.Target.Level != "durable" || r.Target.Topology != "gateway before 3 members" {
		t.Errorf("target %+v", r.Target)
	}
	if r.Lab == nil || r.LabAfter == nil || len(r.Lab.Members) != len(l.Members) || r.LabAfter.State != "up" {
		t.Fatalf("lab before %+v, after %+v", r.Lab, r.LabAfter)
	}
	roles := map[string]int{}
	for _, m := range r.Lab.Members {
		roles[m.Role]++
	}
	if roles["primary"] != 1 || roles["secondary"] != 2 {
		t.Errorf("roles %v", roles)
	}
	for _, h := range l.Hosts {
		if !slices.ContainsFunc(r.Series, func(s record.Series) bool {
			return s.Source == "host:"+name+"/"+h.Name && s.Name == "memory.resident" && s.Mean > 0
		}) {
			t.Errorf("nothing is known of what %s used", h.Name)
		}
	}
	for _, id := range []string{"lab-level", "shared-machine"} {
		if !slices.ContainsFunc(r.Validity, func(f measure.Finding) bool { return f.ID == id }) {
			t.Errorf("no finding %s among %+v", id, r.Validity)
		}
	}
}

// testFaultInCourse kills a standby during a run: the record has an event and a finding.
func testFaultInCourse(t *testing.T, name string, l record.Lab, load []string) {
	t.Helper()
	standby := ""
	for _, m := range l.Members {
		if m.Role == "secondary" {
			standby = m.Name
		}
	}
	c := start(t, append(load, "--duration", "600s")...)
	dir := filepath.Join(c.dir, out)
	until(t, "something is measured", func() bool {
		r, err := record.OpenRun(dir)
		return err == nil && r.Phase("measure") != nil && r.Phase("measure").Counts.Succeeded > 0
	})
	plimsoll(t, "lab", "fail", name, "kill", standby).must(t, 0)
	until(t, "the fault is in the course of the run", func() bool {
		events, err := record.Events(dir)
		return err == nil && slices.ContainsFunc(events, func(e measure.Event) bool {
			return e.Kind == "fault" && strings.Contains(e.Text, standby) && e.At > 0
		})
	})
	c.signal(t, os.Interrupt)
	r := c.wait(t).must(t, 130).onDisk(t)
	for _, id := range []string{"lab-fault", "lab-changed"} {
		if !slices.ContainsFunc(r.Validity, func(f measure.Finding) bool { return f.ID == id }) {
			t.Errorf("no finding %s among %+v", id, r.Validity)
		}
	}
}

// TestStudyOfLabs varies the cores of isolated hosts, so each change needs a new lab. The study is killed, resumed,
// finds its lab, and removes it at the end.
func TestStudyOfLabs(t *testing.T) {
	inTurn(t, 30)
	if _, ok := enginetest.DocumentDB(t); !ok {
		return
	}
	const name = "e2e-study"
	removeAfter(t, name)
	file, dir := writeStudy(t, fmt.Sprintf(`
name: cores
lab:
  name: %s
  engine: {name: documentdb}
  hosts: {mode: isolated, cores: 1, memory: 1GiB}
  deadline: 5m
run:
  workload: {name: a, records: 200}
  load: {workers: 2, duration: 3s}
factors:
  - path: lab.hosts.cores
    levels: [1, 0.5]
trials: 2
canary: -1
`, name))
	plan := plimsoll(t, "study", "plan", file).must(t, 0).stdout
	if !strings.Contains(plan, "the lab "+name+" is brought up") || !strings.Contains(plan, "bringing the lab up") {
		t.Errorf("the plan does not say what the lab costs:\n%s", plan)
	}
	c := start(t, "study", "run", file, "--out", dir)
	until(t, "the second trial begins", func() bool {
		s, err := record.OpenStudy(dir)
		return err == nil && len(s.Trials) == 4 && s.Trials[0].Status == record.TrialDone || c.over()
	})
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.wait(t)
	study := plimsoll(t, "study", "resume", dir, "--format", "json").judged(t).study(t, dir)
	checkDone(t, study, dir, 4)
	checkCores(t, study, dir, name)
	if list := plimsoll(t, "lab", "list").must(t, 0).stdout; strings.Contains(list, name) {
		t.Errorf("the study left its lab:\n%s", list)
	}
}

// checkCores checks that each trial had the cores of its configuration and used at most these.
func checkCores(t *testing.T, study *record.Study, dir, name string) {
	t.Helper()
	used := map[float64][]float64{} // used cores of member hosts, by limit
	for _, tr := range study.Trials {
		if tr.Status != record.TrialDone {
			continue
		}
		r, err := record.OpenRun(filepath.Join(dir, tr.Record))
		if err != nil || r.Lab == nil {
			t.Fatalf("trial %d: %v, lab %v", tr.Number, err, r.Lab)
		}
		want := 1.0
		if strings.Contains(tr.Configuration, "0.5") {
			want = 0.5
		}
		for _, h := range r.Lab.Hosts {
			if h.Role == "member" && h.Cores != want {
				t.Errorf("trial %d of %s ran on %s with %v cores", tr.Number, tr.Configuration, h.Name, h.Cores)
			}
		}
		used[want] = append(used[want], checkLimits(t, r, name))
	}
	for limit, means := range used {
		sum := 0.0
		for _, m := range means {
			sum += m
		}
		if mean := sum / float64(len(means)); mean > 1.15*limit {
			t.Errorf("a host of %v cores used %.2f of them (%v in its trials)", limit, mean, means)
		}
	}
}

// checkLimits checks that the memory of an isolated host determines the settings of its server, and returns the cores
// that the host used.
func checkLimits(t *testing.T, r *record.Run, name string) float64 {
	t.Helper()
	for _, m := range r.Lab.Members {
		if m.Kind != "postgres" {
			continue
		}
		if got := m.Settings["shared_buffers"]; got != "256MB" { // a quarter of 1 GiB
			t.Errorf("on a host of 1 GiB %s has shared_buffers %q", m.Name, got)
		}
		for _, s := range r.Series {
			if s.Source == "host:"+name+"/"+m.Host && s.Name == "cpu.used" && s.Mean > 0 {
				return s.Mean
			}
		}
		t.Errorf("nothing is known of the cores that %s used", m.Host)
	}
	return 0
}

// The processors of a host of a lab are those of its server, which calls itself by another name: when they are used up,
// that is the limit.
func TestMongoUsesUpItsHost(t *testing.T) {
	inTurn(t, 12)
	binary, ok := enginetest.RealMongo(t)
	if !ok {
		return // the host that a stand-in names is not that of a mongod
	}
	const name = "e2e-limited-host"
	l := labOf(t, name, "--binary", binary, "--hosts", "isolated", "--cores", "0.2")
	r := plimsoll(t, "run", "lab:"+name, "--workload", "c", "--records", "1000", "--threads", "32", "--duration", "5s", "--quiet",
		"--out", out).valid(t)
	s := r.LimitStep()
	i := slices.IndexFunc(s.Resources, func(x limit.Resource) bool { return x.Where == "host host1" })
	if i < 0 || s.Resources[i].Behind || s.Resources[i].Waiting == 0 || s.Resources[i].Throttled == 0 {
		t.Errorf("%s is the server on host1, and the record has %+v of %v", l.Members[0].Address, s.Resources, r.Anatomy.Servers)
	}
}
