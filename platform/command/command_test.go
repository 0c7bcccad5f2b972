//go:build linux

package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// patience bounds what a test waits for. The machine may be busy.
const patience = 10 * time.Minute

// theSet is a replica set whose script is what the user has.
type theSet struct {
	*enginetest.Set
	journals string
}

func newSet(t *testing.T) *theSet {
	return &theSet{enginetest.StartSet(t, enginetest.StandinMongo(t, "8.0.12"), 3), filepath.Join(t.TempDir(), "journals")}
}

// kill are the commands that kill and start a member.
func (s *theSet) kill() spec.Commands {
	return spec.Commands{Inject: []string{s.Script, "kill", "{member}"}, Heal: []string{s.Script, "start", "{member}"},
		Witness: []string{s.Script, "is-dead", "{member}"}, FailureMode: fault.Crash, Timeout: spec.Duration(patience)}
}

// platform is the set with an action kill that has the given commands.
func (s *theSet) platform(t *testing.T, c spec.Commands) *platform.Deployment {
	t.Helper()
	file := spec.Platform{Actions: map[string]spec.Commands{"kill": c}}
	for i, name := range s.Names {
		file.Members = append(file.Members, spec.PlatformMember{Name: name, Address: s.Addresses[i], Machine: "machine-" + name})
	}
	p, err := New(Options{URI: s.URI, File: file, Journals: s.journals})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// healers heal what the journals of these tests have.
var healers = platform.Healers{Kind: Healer{}}

// healText is the heal command of an entry.
func healText(t *testing.T, e platform.Entry) string {
	t.Helper()
	step, err := healers.Step(e)
	if err != nil {
		t.Fatal(err)
	}
	return step.Text
}

// inject injects kill of a target.
func inject(t *testing.T, p *platform.Deployment, target string) (platform.Injector, platform.Injection, error) {
	t.Helper()
	i, err := p.Fault(spec.Fault{Action: spec.Action{Name: "kill", Target: target}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	known, err := i.Inject(t.Context())
	return i, known, err
}

// verify verifies within a time.
func verify(t *testing.T, i platform.Injector, within time.Duration) platform.Injection {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	known, err := i.Verify(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// roles are the members by their roles. At times no member of a busy machine answers.
func roles(t *testing.T, p *platform.Deployment) map[string]string {
	t.Helper()
	members, err := p.Members(t.Context())
	for limit := time.Now().Add(patience); err != nil; members, err = p.Members(t.Context()) {
		if time.Now().After(limit) {
			t.Fatal(err)
		}
	}
	by := map[string]string{}
	for _, m := range members {
		by[m.Name] = m.Role
	}
	return by
}

// isBack waits until a member is part of its set.
func isBack(t *testing.T, p *platform.Deployment, member string) {
	t.Helper()
	for limit := time.Now().Add(patience); ; {
		now := roles(t, p)
		if now[member] == "secondary" || now[member] == "primary" {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%s is not back: %v", member, now)
		}
	}
}

// A killed primary is seen by the witness and by the connection, and starts again. Nothing is left in the journal.
func TestKillPrimary(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	p := s.platform(t, s.kill())
	before := roles(t, p)
	i, known, err := inject(t, p, "primary")
	if err != nil || before[known.Target] != "primary" || !known.TakesDown || !known.Unseats || !known.Lasts {
		t.Fatalf("%+v, %v; the roles were %v", known, err, before)
	}
	if left, err := platform.Left(s.journals); err != nil || len(left) != 1 || left[0].Member != known.Target ||
		left[0].Holder != os.Getpid() ||
		healText(t, left[0]) != s.Script+" start "+known.Target {
		t.Errorf("the journal has %+v, %v", left, err)
	}
	known = verify(t, i, patience)
	if !known.Hit || known.Disputed || known.Seen.Before(known.Requested) {
		t.Errorf("%+v", known)
	}
	for _, want := range []string{"the inject command succeeded", "the witness command saw the effect",
		"own connection to " + known.Target} {
		if !strings.Contains(known.Evidence, want) {
			t.Errorf("the evidence %q lacks %q", known.Evidence, want)
		}
	}
	if !strings.Contains(known.Evidence, "broke: ") && !strings.Contains(known.Evidence, "has not answered for ") { // if it is busy
		t.Errorf("the evidence %q does not say what happened to the connection", known.Evidence)
	}
	if known, err = i.Heal(t.Context()); err != nil || known.Healed.Before(known.Effective) {
		t.Errorf("healed: %+v, %v", known, err)
	}
	var steps []string
	for k, c := range known.Commands {
		steps = append(steps, c.Step)
		// The witness may not see the effect at once. Its last command did.
		early := c.Step == "witness" && known.Commands[k+1].Step == c.Step
		if c.Exit != 0 && !early || c.Returned.Before(c.Asked) || c.Problem != "" {
			t.Errorf("%+v", c)
		}
	}
	if got := slices.Compact(steps); !slices.Equal(got, []string{"inject", "witness", "heal"}) {
		t.Errorf("the commands were %q", got)
	}
	isBack(t, p, known.Target)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(s.journals); err != nil || len(left) > 0 {
		t.Errorf("left is %v, %v", left, err)
	}
}

// A paused member does not answer, which its connection shows.
func TestPause(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	p := s.platform(t, spec.Commands{Inject: []string{s.Script, "pause", "{member}"}, Heal: []string{s.Script, "resume", "{member}"},
		FailureMode: fault.BlackHole, Timeout: spec.Duration(patience)})
	i, _, err := inject(t, p, "db2")
	if err != nil {
		t.Fatal(err)
	}
	if known := verify(t, i, patience); !known.Hit || !strings.Contains(known.Evidence, "has not answered") {
		t.Errorf("%+v", known)
	}
	if _, err := i.Heal(t.Context()); err != nil {
		t.Error(err)
	}
}

// The witness and the connection must agree. Each contradiction is told.
func TestContradictions(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	for name, c := range map[string]struct {
		change   func(*spec.Commands)
		says     string
		disputed bool
	}{
		"the witness sees nothing, the connection breaks": {
			func(c *spec.Commands) { c.Witness = []string{"sh", "-c", "echo still here; exit 7"} },
			"the witness command saw no effect (exit code 7, output: still here); Plimsoll's own connection to db3", true},
		"the witness sees an effect that the connection does not": {
			func(c *spec.Commands) { c.Inject, c.Witness = []string{"true"}, []string{"true"} },
			"answers as before", true},
		"nobody sees an effect": {
			func(c *spec.Commands) { c.Inject, c.Witness = []string{"true"}, nil },
			"the inject command succeeded", false},
	} {
		commands := s.kill()
		c.change(&commands)
		p := s.platform(t, commands)
		for attempt := 1; ; attempt++ { // a member of a busy machine may not answer for a second by itself
			right := func(known platform.Injection) bool {
				return !known.Hit && known.Disputed == c.disputed && strings.Contains(known.Evidence, c.says)
			}
			known := contradicted(t, p, right)
			if right(known) {
				break
			}
			text := fmt.Sprintf("%s: hit %v, disputed %v: %s", name, known.Hit, known.Disputed, known.Evidence)
			if attempt == 5 {
				t.Error(text)
				break
			}
			t.Log(text)
		}
	}
}

// contradicted injects a fault on db3, verifies it until it is right, and heals it.
func contradicted(t *testing.T, p *platform.Deployment, right func(platform.Injection) bool) platform.Injection {
	t.Helper()
	i, _, err := inject(t, p, "db3")
	if err != nil {
		t.Fatal(err)
	}
	// The connection breaks at once, and the witness is run many times, unless the machine is busy.
	known := platform.Injection{}
	for within := 2 * time.Second; !known.Hit && !right(known) && within < 20*time.Second; within *= 2 {
		known = verify(t, i, within)
	}
	if _, err := i.Heal(t.Context()); err != nil {
		t.Error(err)
	}
	isBack(t, p, "db3")
	return known
}

// A command that fails, hangs or does not exist injects nothing. What it may have done is reverted at once, and its
// output has no credentials.
func TestFailedInject(t *testing.T) {
	s := newSet(t)
	t.Setenv("CLOUD_SECRET", "geheim123")
	for name, c := range map[string]struct {
		inject []string
		says   string
		steps  string
	}{
		"fails":          {[]string{"sh", "-c", "echo cannot reach the host; exit 9"}, "exit code 9, output: cannot reach the host", "inject heal"},
		"hangs":          {[]string{"sh", "-c", "echo waiting; sleep 1000"}, "it did not end within 300ms", "inject heal"},
		"is missing":     {[]string{"/no/such/program"}, "the command did not start", "inject"},
		"prints secrets": {[]string{"sh", "-c", `echo "token $CLOUD_SECRET $1 mongodb://u:hunter22@h/"; exit 1`, "-", "--password=sesame99"}, "token ***", "inject heal"},
	} {
		commands := s.kill()
		commands.Inject, commands.Timeout = c.inject, spec.Duration(patience)
		if name == "hangs" {
			commands.Timeout = spec.Duration(300 * time.Millisecond)
			commands.Heal = []string{"true"}
		}
		p := s.platform(t, commands)
		_, known, err := inject(t, p, "db1")
		if err == nil || !strings.Contains(err.Error(), c.says) || known.Injected() {
			t.Errorf("%s: %+v, %v", name, known, err)
			continue
		}
		var steps []string
		for _, one := range known.Commands {
			steps = append(steps, one.Step)
			for _, secret := range []string{"geheim123", "hunter22", "sesame99"} {
				if strings.Contains(one.Output+one.Text+one.Problem+err.Error(), secret) {
					t.Errorf("%s: the secret %s is in %+v, %v", name, secret, one, err)
				}
			}
		}
		// A busy machine may need several attempts to heal within 300 ms.
		if strings.Join(slices.Compact(steps), " ") != c.steps {
			t.Errorf("%s: the commands were %v", name, steps)
		}
		if left, err := platform.Left(s.journals); err != nil || len(left) > 0 {
			t.Errorf("%s: the journal has %+v, %v", name, left, err)
		}
	}
}

// A heal command that fails is tried four times. The fault stays in the journal, and [platform.HealAll] heals it when
// the command works.
func TestFailedHeal(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	commands := s.kill()
	commands.Heal = []string{"sh", "-c", `[ ! -e "$1" ] || { echo the management board is away; exit 3; }; exec "$2" start "$PLIMSOLL_MEMBER"`, "-", broken, s.Script}
	p := s.platform(t, commands)
	i, _, err := inject(t, p, "db2")
	if err != nil {
		t.Fatal(err)
	}
	verify(t, i, patience)
	known, err := i.Heal(t.Context())
	if err == nil || !known.Healed.IsZero() || !strings.Contains(err.Error(), "the management board is away") ||
		!strings.Contains(err.Error(), "tried 4 times. Run it by hand: sh -c ") {
		t.Errorf("%+v, %v", known, err)
	}
	var said []string
	tell := func(text string) { said = append(said, text) }
	if err := platform.HealAll(t.Context(), s.journals, healers, tell); err != nil || len(said) != 1 ||
		!strings.Contains(said[0], "a running drill") {
		t.Errorf("while the drill runs: %q, %v", said, err)
	}
	if err := p.Close(); err == nil || !strings.Contains(err.Error(), "kill:db2 on db2 is still in place") {
		t.Errorf("the drill ends with %v", err)
	}
	if left, err := platform.Left(s.journals); err != nil || len(left) != 1 || left[0].Holder != 0 {
		t.Errorf("after the drill: %+v, %v", left, err)
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	said = nil
	if err := platform.HealAll(t.Context(), s.journals, healers, tell); err != nil || len(said) != 2 || said[1] != "kill:db2 on db2: reverted" {
		t.Errorf("%q, %v", said, err)
	}
	if left, err := os.ReadDir(s.journals); err != nil || len(left) > 0 {
		t.Errorf("left is %v, %v", left, err)
	}
}

// Only members that the file names are broken.
func TestOnlyNamedMembers(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	all := s.platform(t, s.kill())
	primary := ""
	for name, role := range roles(t, all) {
		if role == "primary" {
			primary = name
		}
	}
	file := spec.Platform{Actions: map[string]spec.Commands{"kill": s.kill()}}
	var unnamed string
	for i, name := range s.Names {
		if name == primary {
			unnamed = s.Addresses[i]
			continue
		}
		file.Members = append(file.Members, spec.PlatformMember{Name: name, Address: s.Addresses[i], Machine: "m"})
	}
	p, err := New(Options{URI: s.URI, File: file, Journals: s.journals})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got := roles(t, p); len(got) != 3 || got[unnamed] != "primary" {
		t.Errorf("the members are %v", got)
	}
	for target, want := range map[string]string{
		"primary": "the primary is " + unnamed + ", which the platform file does not name",
		unnamed:   "the platform file does not name it",
		"db9":     `there is no member "db9"`,
		"arbiter": "no named member has this role now",
	} {
		if _, err := p.Plan(t.Context(), spec.Fault{Action: spec.Action{Name: "kill", Target: target}}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", target, err, want)
		}
	}
	plans, err := p.Plan(t.Context(), spec.Fault{Action: spec.Action{Name: "kill", Target: "random"}})
	if err != nil || len(plans) != 2 {
		t.Errorf("random may be %+v, %v", plans, err)
	}
	if _, err := p.Plan(t.Context(), spec.Fault{Action: spec.Action{Name: "cut", Target: "random"}}); err == nil ||
		!strings.Contains(err.Error(), "does not have it (it has: kill)") {
		t.Errorf("an action without commands: %v", err)
	}
}
