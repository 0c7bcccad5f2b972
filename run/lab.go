package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run/observe"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
)

// Lab is a running lab as the target of a run. One that is an [io.Closer] is closed when the run is done.
type Lab interface {
	observe.Lab
	// Address is where to connect for a durability. It fails where the lab has nothing that keeps it.
	Address(ctx context.Context, d spec.Durability) (LabAddress, error)
}

// Labs brings up and removes the labs of drills, studies and suites. A lab goes on when this program ends: whoever
// left it finds it again by its name, and knows it by its labels.
type Labs interface {
	// Find returns a lab as it is, also one that is half made or whose supervisor is gone; nil if there is none.
	Find(ctx context.Context, name string) (*record.Lab, error)
	// Up brings a lab up and returns when it is usable. One that does not become usable is removed again.
	Up(ctx context.Context, asked spec.Lab) error
	// Down removes a lab, whatever state it is in. There being none is no error.
	Down(ctx context.Context, name string) error
}

// LabAddress is where a lab is reached.
type LabAddress struct {
	// URI has credentials.
	URI string
	// Level is the durability level that its servers stand for, where each level has servers of its own.
	Level string
	// Means says what the level comes to in the words of the engine.
	Means string
}

// askLabAtMost is how long a lab may take to say how it stands, its servers included.
const askLabAtMost = 20 * time.Second

// labTarget is the lab that a run loads.
type labTarget struct {
	name    string
	lab     Lab
	address LabAddress
	before  *record.Lab
	after   *record.Lab
	problem string             // why it could not be asked in the end
	logs    map[string]int64   // how long the logs of its members were in the beginning, by their paths
	faults  []string           // that happened while the run went on
	series  []record.Series    // what its hosts used, for the findings
	began   map[string]cpuUse  // what its servers had used when the load that counts began
	cores   map[string]float64 // how many cores each server used until the end
}

// findLab finds the lab that is the target; from then on the target is where it is reached.
func (r *runner) findLab(ctx context.Context) error {
	name := r.target.Lab
	if r.opts.Address != "" { // whoever started this process has found it
		r.target.Kind, r.target.URI = "mongodb", r.opts.Address
		return nil
	}
	if r.opts.Lab == nil {
		return &store.AddressError{Address: spec.LabTarget(name), Problem: "labs cannot be loaded from here"}
	}
	l, err := r.opts.Lab(ctx, name)
	if err != nil {
		return fmt.Errorf("lab:%s cannot be loaded: %w; plimsoll lab list shows the labs that there are", name, err)
	}
	t := &labTarget{name: name, lab: l, logs: map[string]int64{}}
	if t.address, err = l.Address(ctx, r.spec.Durability); err != nil {
		t.close()
		return &store.AddressError{Address: spec.LabTarget(name), Problem: err.Error()}
	}
	r.lab = t
	r.target.Kind, r.target.URI = "mongodb", t.address.URI
	return nil
}

func (t *labTarget) close() {
	if t == nil {
		return
	}
	if c, ok := t.lab.(io.Closer); ok {
		_ = c.Close() // it only forgets how the lab is reached
	}
}

// level is the durability level whose servers are loaded, "" where there is one kind of servers only.
func (t *labTarget) level() string {
	if t == nil {
		return ""
	}
	return t.address.Level
}

// topology is what stands behind the servers that clients see: a gateway of documentdb calls itself a standalone,
// however many members there are.
func (t *labTarget) topology(seen string) string {
	if t == nil || t.before == nil || t.address.Level == "" {
		return seen
	}
	members := 0
	for _, m := range t.before.Members {
		if m.Kind == "postgres" {
			members++
		}
	}
	return "gateway before " + figure.Plural(members, "member")
}

// secrets are the passwords that the lab keeps in its own directory, where it has one: those of its servers among each
// other are in no address. What cannot be read is not known here, and logs are masked by what they say as well.
func (t *labTarget) secrets() []string {
	place, ok := t.lab.(interface{ Dir() string })
	if !ok {
		return nil
	}
	dir := filepath.Join(place.Dir(), "secrets")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		if b, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil {
			all = append(all, strings.TrimSpace(string(b)))
		}
	}
	return all
}

// beginLab writes down what the lab is, and where its logs end.
func (r *runner) beginLab() {
	if r.opts.Address != "" {
		r.writer.AddSecrets(r.opts.Address)
	}
	if r.lab == nil {
		return
	}
	r.writer.AddSecrets(r.lab.address.URI)
	for _, secret := range r.lab.secrets() {
		r.writer.AddSecret(secret)
	}
	r.describeLab(context.Background())
	if r.lab.before == nil {
		return
	}
	for _, m := range r.lab.before.Members {
		for _, path := range m.Logs {
			if info, err := os.Stat(path); err == nil {
				r.lab.logs[path] = info.Size()
			}
		}
	}
}

// describeLab writes down how the lab stands before the load that counts.
func (r *runner) describeLab(ctx context.Context) {
	if r.lab == nil {
		return
	}
	d, err := r.lab.describe(ctx)
	if err != nil {
		r.writer.AddNote(fmt.Sprintf("how lab %s stands is not known: %v", r.lab.name, err))
		return
	}
	r.writer.SetLab(*d)
	r.lab.before = d
	r.lab.began = cpuUses(d.Members)
}

func (t *labTarget) describe(ctx context.Context) (*record.Lab, error) {
	ctx, cancel := context.WithTimeout(ctx, askLabAtMost)
	defer cancel()
	d, err := t.lab.Describe(ctx, true)
	return &d, err
}

// endLab writes down how the lab stands in the end, and what its members logged meanwhile.
func (r *runner) endLab() {
	t := r.lab
	if t == nil {
		return
	}
	t.series = r.writer.Series()
	t.cores = coresSince(t.began)
	if aborted(r.opts.Abort) {
		return // nobody waits any more
	}
	d, err := t.describe(context.Background())
	if err != nil {
		t.problem = store.OneLine(err.Error())
	} else {
		t.after = d
		r.writer.SetLabAfter(*d)
	}
	last := t.after
	if last == nil {
		last = t.before
	}
	if last == nil {
		return
	}
	for _, m := range last.Members {
		if err := r.writer.AddLog(m.Name, t.written(m.Logs)); err != nil {
			r.writer.AddNote(store.OneLine(err.Error()))
		}
		if dir := t.diagnostics(m); dir != "" {
			if err := r.writer.AddDiagnostics(m.Name, dir, r.begun); err != nil {
				r.writer.AddNote(store.OneLine(err.Error()))
			}
		}
	}
}

// diagnostics is where a mongod keeps its diagnostic data, as this process sees it: a member of an isolated lab has a
// root of its own.
func (t *labTarget) diagnostics(m record.LabMember) string {
	data := m.Settings["storage.dbPath"]
	if t.before != nil && data == "" {
		for _, b := range t.before.Members {
			if b.Name == m.Name {
				data = b.Settings["storage.dbPath"]
			}
		}
	}
	if m.Kind != "mongod" || data == "" {
		return ""
	}
	dir := filepath.Join(data, "diagnostic.data")
	if len(m.PIDs) > 0 {
		return filepath.Join("/proc", strconv.Itoa(m.PIDs[0]), "root", dir)
	}
	return dir
}

func aborted(abort <-chan struct{}) bool {
	select {
	case <-abort:
		return true
	default:
		return false
	}
}

// written returns what was written into logs since the run began. A log that became shorter was begun anew.
func (t *labTarget) written(paths []string) []record.LogPart {
	var parts []record.LogPart
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue // one that was never written
		}
		from := t.logs[path]
		if from > info.Size() {
			from = 0
		}
		if info.Size() > from {
			parts = append(parts, record.LogPart{Path: path, From: from, To: info.Size()})
		}
	}
	return parts
}

// saw takes notice of what happens in the lab while the run goes on.
func (t *labTarget) saw(e observe.Event) {
	const most = 20
	if t != nil && e.Kind == "fault" && len(t.faults) < most {
		t.faults = append(t.faults, e.Text)
	}
}

// sources are what is looked at beside the load: the hosts of the lab and, where its servers tell something, each of
// them.
func (t *labTarget) sources(r *runner) []observe.Source {
	list := []observe.Source{observe.NewLab(t.name, t.lab)}
	if t.before == nil {
		return list
	}
	for _, m := range t.before.Members {
		if m.Address == "" || m.Kind != "mongod" && m.Kind != "mongos" || m.Role == "arbiter" {
			continue // FerretDB and PostgreSQL have no serverStatus worth the name, and an arbiter has no data
		}
		open, err := r.openMember(t.address.URI, m.Address)
		if err != nil {
			continue
		}
		list = append(list, observe.NewMember(m.Address, open))
	}
	return list
}

// MemberURI returns the address of one member of a deployment, with the credentials and options of the whole.
func MemberURI(uri, member string) (string, error) {
	a, err := mongouri.Parse(uri)
	if err != nil {
		return "", errors.New("not an address of members")
	}
	a.Drop("replicaSet", "loadBalanced", "srvMaxHosts", "srvServiceName")
	if a.Scheme == "mongodb+srv" {
		seedList(&a)
	}
	a.Scheme, a.Hosts = "mongodb", member
	a.Set("directConnection", "true")
	return a.String(), nil
}

// seedList adds the options that an address of the scheme mongodb+srv implies: TLS, and users of the database admin,
// which is what its TXT record says wherever it says anything.
func seedList(a *mongouri.Address) {
	if _, said := a.Option("tls", "ssl"); !said {
		a.Set("tls", "true")
	}
	if _, said := a.Option("authSource", "authMechanism"); !said && a.User != "" {
		a.Set("authSource", "admin")
	}
}
