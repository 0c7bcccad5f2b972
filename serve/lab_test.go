package serve

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/report/recordtest"
)

// fakeLabs is one lab, whose names somebody chose.
type fakeLabs struct {
	mu     sync.Mutex
	broken bool
	gone   bool
	healed int
	name   string // what servers in it are called; hostileName if empty
}

const hostileName = "<script>harm()</script>"

func (f *fakeLabs) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fakeLabs) lab() record.Lab {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := cmp.Or(f.name, hostileName)
	if f.broken {
		return recordtest.LabAfter(name)
	}
	return recordtest.Lab(name)
}

func (f *fakeLabs) List(context.Context) ([]record.Lab, error) {
	dead := record.Lab{Name: "dead", State: "failed", Problem: "its supervisor has ended " + hostileName}
	return []record.Lab{f.lab(), dead}, nil
}

func (f *fakeLabs) View(_ context.Context, name string) (*report.LabView, error) {
	v := &report.LabView{Lab: f.lab(), Events: []record.LabEvent{{Seq: 1, Time: recordtest.Started, Kind: "election",
		Text: "rs0-1 was elected " + cmp.Or(f.name, hostileName)}}}
	f.mu.Lock()
	defer f.mu.Unlock()
	if name != "three" || f.gone {
		return v, errors.New("there is no such lab")
	}
	return v, nil
}

func (f *fakeLabs) Heal(_ context.Context, name string) error {
	f.set(func() { f.broken, f.healed = false, f.healed+1 })
	return nil
}

func TestLabsAreListed(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Dir: t.TempDir(), Labs: &fakeLabs{broken: true}})
	_, body := getKnown(t, s, "/")
	for _, want := range []string{`<a href="/lab/three">three</a>`, "power-off of host1", "replica set of 3 members", "its supervisor has ended"} {
		if !strings.Contains(body, want) {
			t.Errorf("the list does not have %q", want)
		}
	}
	if strings.Contains(body, `href="/lab/dead"`) || strings.Contains(body, "<script>harm") {
		t.Error("the list has a link to a lab that is gone, or unescaped text of a lab")
	}
	if _, body := getKnown(t, s, "/?q=lab+elsewhere"); strings.Contains(body, "/lab/three") {
		t.Error("a lab is listed that was not looked for")
	}
	for _, o := range []Options{{Dir: t.TempDir()}, {Dir: t.TempDir(), Alone: true, Labs: &fakeLabs{}}} {
		if status, _ := getKnown(t, start(t, o), "/lab/three"); status != http.StatusNotFound {
			t.Errorf("got %d without labs", status)
		}
	}
}

// Every user of the machine reaches a page on loopback, and a lab belongs to one of them, mostly root.
func TestLabsAreBehindTheToken(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Dir: t.TempDir(), Labs: &fakeLabs{broken: true}})
	for _, path := range []string{"/", "/?q=three", "/lab/three", "/lab/three/events", "/lab/four", "/lab/three?token=wrong"} {
		status, body := get(t, s, path)
		if strings.Contains(body, "host1") || strings.Contains(body, "dead") || strings.Contains(body, "rs0-1") {
			t.Errorf("%s shows labs without the token: %s", path, body)
		}
		if want := map[bool]int{true: http.StatusUnauthorized, false: http.StatusOK}[strings.HasPrefix(path,
			"/lab/")]; status != want {
			t.Errorf("%s is %d, want %d", path, status, want)
		}
		if path == "/" && !strings.Contains(body, "Labs are shown only with the token") {
			t.Errorf("the list does not explain the missing lab: %s", body)
		}
	}
	if _, body := getKnown(t, s, "/"); strings.Contains(body, "Labs are shown only with the token") {
		t.Error("a client that knows the token is asked for it")
	}
}

// A page follows a lab: whoever comes late sees what is, changes come by themselves, and the end is told.
func TestFollowingALab(t *testing.T) {
	t.Parallel()
	f := &fakeLabs{}
	s := start(t, Options{Dir: t.TempDir(), Labs: f})
	status, body := getKnown(t, s, "/lab/three")
	if status != http.StatusOK || !strings.Contains(body, `data-events="/lab/three/events"`) ||
		!strings.Contains(body, "rs0-1 was elected") || strings.Contains(body, "<script>harm") {
		t.Fatalf("%d\n%s", status, body)
	}
	for _, path := range []string{"/lab/four", "/lab/No%20Such", "/lab/No%20Such/events"} {
		if status, _ := getKnown(t, s, path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
	ch := listenAt(t, s, "/lab/three/events", "")
	if e := next(t, ch, "picture"); !strings.Contains(e.data, ">Volumes</h2>") ||
		strings.Contains(e.data, "power-off") || strings.Contains(e.data, "<script>harm") {
		t.Errorf("first picture %.300s", e.data)
	}
	if e := next(t, ch, "now"); !strings.Contains(e.data, "4 of 4 hosts on, 4 of 4 members running") {
		t.Errorf("now %q", e.data)
	}
	f.set(func() { f.broken = true })
	if e := next(t, ch, "picture"); !strings.Contains(e.data, "power-off of host1") {
		t.Errorf("second picture %.300s", e.data)
	}
	late := listenAt(t, s, "/lab/three/events", "")
	if e := next(t, late, "picture"); !strings.Contains(e.data, "power-off of host1") {
		t.Errorf("the picture of a late client: %.300s", e.data)
	}
	f.set(func() { f.gone = true })
	next(t, ch, "end")
	next(t, late, "end")
}

// Only who knows the token heals, and nobody by looking.
func TestHealingIsBehindTheToken(t *testing.T) {
	t.Parallel()
	f := &fakeLabs{broken: true}
	s := start(t, Options{Dir: t.TempDir(), Labs: f})
	own := "http://" + s.ln.Addr().String()
	form := map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Origin": own}
	for name, c := range map[string]struct{ method, path string }{
		"without a token": {"POST", "/heal/three"}, "a wrong token": {"POST", "/heal/three?token=wrong"}, "looking": {"GET", "/heal/three?token=" + testToken},
	} {
		if resp, _ := ask(t, s, c.method, c.path, form, ""); resp.StatusCode < 400 &&
			resp.StatusCode != http.StatusSeeOther && resp.StatusCode != http.StatusFound {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
		f.set(func() {
			if f.healed != 0 {
				t.Errorf("%s healed", name)
			}
		})
	}
	form["Cookie"] = known(s)["Cookie"]
	if _, body := getKnown(t, s, "/lab/three"); !strings.Contains(body, "<button>Revert all faults</button>") {
		t.Error("the button is not offered")
	}
	resp, body := ask(t, s, "POST", "/heal/three", form, url.Values{"pid": {"0"}}.Encode())
	if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "/lab/three" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	f.set(func() {
		if f.healed != 1 {
			t.Errorf("healed %d times", f.healed)
		}
	})
}
