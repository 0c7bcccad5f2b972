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
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run/observe"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
)

// Lab is a running lab as the target of a run. If it is an [io.Closer], it is closed after the run.
type Lab interface {
	observe.Lab
	// Address is the address for a durability. It fails if the lab has none for it.
	Address(ctx context.Context, d spec.Durability) (LabAddress, error)
}

// Labs starts and removes the labs of drills, studies and suites. Labs survive this program. They are found again by
// name and recognised by their labels.
type Labs interface {
	// Find returns a lab, also an incomplete one or one without supervisor; nil if there is none.
	Find(ctx context.Context, name string) (*record.Lab, error)
	// Up starts a lab of a complete specification and returns when it is usable. A lab that fails is removed.
	Up(ctx context.Context, asked spec.Lab) error
	// Down removes a lab in any state. It is no error if there is none.
	Down(ctx context.Context, name string) error
}

// LabAddress is the address of a lab for one durability.
type LabAddress struct {
	URI   string // with credentials
	Level string // durability level of the servers there, "" if they serve all levels
	Means string // the level in the engine's own settings
}

// describeAtMost is the time limit of describing a lab and its servers.
const describeAtMost = 20 * time.Second

// labTarget is the lab that a run loads.
type labTarget struct {
	name    string
	lab     Lab
	address LabAddress
	before  *record.Lab
	after   *record.Lab
	problem string             // why it did not report its state at the end
	logs    map[string]int64   // sizes of the members' logs at the begin, by path
	faults  []string           // during the run
	killed  []string           // processes that the kernel killed for lack of memory
	series  []record.Series    // use of its hosts, for the findings
	began   map[string]cpuUse  // by its servers when the measured load began
	cores   map[string]float64 // that each server used during the load
}

// findLab finds the target lab and makes its address the target.
func (r *runner) findLab(ctx context.Context) error {
	name := r.target.Lab
	if a := r.opts.share().Address; a != "" { // the parent process has found it
		r.target.Kind, r.target.URI = "mongodb", a
		return nil
	}
	if r.opts.Lab == nil {
		return &store.AddressError{Address: spec.LabTarget(name), Problem: "this command cannot load labs"}
	}
	l, err := r.opts.Lab(ctx, name)
	if err != nil {
		return fmt.Errorf("cannot load lab:%s: %w. List the labs with: plimsoll lab list", name, err)
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
		_ = c.Close() // the lab itself stays
	}
}

func (t *labTarget) level() string {
	if t == nil {
		return ""
	}
	return t.address.Level
}

// topology is that of the lab, because a gateway of documentdb calls itself a standalone.
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

// secrets are the passwords in the lab's directory. The passwords between its servers are in no address. Those that
// cannot be read are skipped, because logs are also masked by pattern.
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
		if b, err := safeopen.ReadFile(dir, e.Name(), safeopen.MaxSecret); err == nil {
			all = append(all, strings.TrimSpace(string(b)))
		}
	}
	return all
}

// beginLab records the lab and the sizes of its logs.
func (r *runner) beginLab() {
	if a := r.opts.share().Address; a != "" {
		r.writer.AddSecrets(a)
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

// describeLab records the state of the lab before the measured load.
func (r *runner) describeLab(ctx context.Context) {
	if r.lab == nil {
		return
	}
	d, err := r.lab.describe(ctx)
	if err != nil {
		r.writer.AddNote(fmt.Sprintf("the state of lab %s before the load is unknown: %v", r.lab.name, err))
		return
	}
	r.writer.SetLab(*d)
	r.lab.before = d
	r.lab.began = cpuUses(d.Members)
}

func (t *labTarget) describe(ctx context.Context) (*record.Lab, error) {
	ctx, cancel := context.WithTimeout(ctx, describeAtMost)
	defer cancel()
	d, err := t.lab.Describe(ctx, true)
	return &d, err
}

// endLab records the state of the lab after the load, and the logs of its members during the run.
func (r *runner) endLab() {
	t := r.lab
	if t == nil {
		return
	}
	t.series = r.writer.Series()
	t.cores = coresSince(t.began)
	select {
	case <-r.opts.Abort:
		return
	default:
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
		if dir := t.diagnostics(m); dir != "" && (r.spec.Observe == nil || !r.spec.Observe.SkipDiagnosticData) {
			if err := r.writer.AddDiagnostics(m.Name, dir, r.begun); err != nil {
				r.writer.AddNote(store.OneLine(err.Error()))
			}
		}
	}
}

// diagnostics is the path of a mongod's diagnostic data for this process. A member of an isolated lab has its own root.
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

// written returns the parts of logs written since the run began. A log that became shorter was rotated.
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

// saw keeps the faults of the lab during the run, and the processes that the kernel killed.
func (t *labTarget) saw(e observe.Event) {
	const most = 20
	switch {
	case t == nil:
	case e.Kind == "fault" && len(t.faults) < most:
		t.faults = append(t.faults, e.Text)
	case e.Data["cause"] == record.CauseOutOfMemory && len(t.killed) < most:
		t.killed = append(t.killed, e.Text+t.serversOn(e.Data["host"]))
	}
}

// serversOn names the servers of a host in brackets, "" if none is known.
func (t *labTarget) serversOn(host string) string {
	var names []string
	if t.before != nil {
		for _, m := range t.before.Members {
			if m.Host == host && host != "" {
				names = append(names, m.Name+", "+m.Kind)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (of " + strings.Join(names, "; ") + ")"
}

// sources are the hosts of the lab and its servers that have serverStatus.
func (t *labTarget) sources(r *runner) []observe.Source {
	list := []observe.Source{observe.NewLab(t.name, t.lab)}
	if t.before == nil {
		return list
	}
	for _, m := range t.before.Members {
		if m.Address == "" || m.Kind != "mongod" && m.Kind != "mongos" || m.Role == "arbiter" {
			continue // FerretDB and PostgreSQL have no serverStatus of use, and an arbiter has no data
		}
		open, err := r.openMember(t.address.URI, m.Address)
		if err != nil {
			continue
		}
		list = append(list, observe.NewMember(m.Address, m.PIDs, open))
	}
	return list
}

// MemberURI returns the address of one member of a deployment, with the credentials and options of the deployment.
func MemberURI(uri, member string) (string, error) {
	a, err := mongouri.Parse(uri)
	if err != nil {
		return "", errors.New("it is not the address of a MongoDB")
	}
	return a.Member(member).String(), nil
}
