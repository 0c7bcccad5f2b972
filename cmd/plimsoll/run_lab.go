package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/platform/kubernetes"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/study"
)

// labTarget is a running lab that a run loads.
type labTarget struct{ *lab.Handle }

func findLab(env *environment) func(context.Context, string) (run.Lab, error) {
	return func(ctx context.Context, name string) (run.Lab, error) {
		home, err := homeDir(env)
		if err != nil {
			return nil, err
		}
		if l, err := podLabs(home, nil).Open(ctx, name); !errors.Is(err, kubernetes.ErrNoLab) {
			return podLab{l}, err
		}
		h, err := lab.Open(ctx, home, name)
		if err != nil {
			return nil, err
		}
		return labTarget{h}, nil
	}
}

// Address returns the address for a durability. With documentdb each level has its own; with mongod there is one.
func (l labTarget) Address(ctx context.Context, d spec.Durability) (run.LabAddress, error) {
	addresses, err := l.Addresses(ctx)
	if err != nil {
		return run.LabAddress{}, err
	}
	described, err := l.Describe(ctx, true)
	if err != nil {
		return run.LabAddress{}, err
	}
	if described.Engine == spec.LabNone {
		return run.LabAddress{}, noDatabase(described.Name)
	}
	if described.Engine != spec.LabDocumentDB {
		if addresses[""] == "" {
			return run.LabAddress{}, errors.New("it has no address yet; see its state with plimsoll lab status")
		}
		return run.LabAddress{URI: addresses[""]}, nil
	}
	uri, level, err := topology.AddressFor(addresses, d, membersWithData(described.Members))
	if err != nil {
		return run.LabAddress{}, err
	}
	return run.LabAddress{URI: uri, Level: level, Means: meaningOf(described, level, uri)}, nil
}

func membersWithData(members []record.LabMember) int {
	n := 0
	for _, m := range members {
		if m.Kind == "postgres" {
			n++
		}
	}
	return n
}

// meaningOf describes a level of documentdb by the settings that its PostgreSQL servers report.
func meaningOf(l record.Lab, level, uri string) string {
	var parts []string
	add := func(m record.LabMember, names ...string) {
		for _, name := range names {
			if value, ok := m.Settings[name]; ok {
				parts = append(parts, name+" = "+cmp.Or(value, "''"))
			}
		}
	}
	gateway := ""
	for _, m := range l.Members {
		if m.Kind == "gateway" && (strings.Contains(uri, "@"+m.Address+"/") || strings.Contains(uri, "/"+m.Address+"/")) {
			gateway = m.Name
			add(m, "synchronous_commit")
		}
	}
	for _, m := range l.Members {
		if m.Kind == "postgres" && m.Role == "primary" {
			add(m, "synchronous_standby_names", "fsync")
		}
	}
	switch {
	case gateway == "":
		return "the servers of level " + level
	case len(parts) == 0:
		return gateway
	}
	return gateway + ", " + strings.Join(parts, ", ")
}

// studyLabs starts and removes the labs of studies and drills.
type studyLabs struct {
	home string
	tell func(string) // shows why pods of a lab do not start; nil shows nothing
}

func newStudyLabs(env *environment) (*studyLabs, error) {
	home, err := homeDir(env)
	return &studyLabs{home: home}, err
}

// Find returns a lab. If its supervisor died, the state is failed, whatever the last state was.
func (s *studyLabs) Find(ctx context.Context, name string) (*record.Lab, error) {
	if l, err := podLabs(s.home, nil).Find(name); !errors.Is(err, kubernetes.ErrNoLab) {
		return l, err
	}
	e, err := lab.Find(ctx, s.home, name)
	if errors.Is(err, lab.ErrNoLab) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !e.Alive && e.State == "up" {
		e.State = "failed"
	}
	return &e.Lab, nil
}

func (s *studyLabs) Up(ctx context.Context, asked spec.Lab) error {
	if asked.InKubernetes() {
		_, err := podLabs(s.home, s.tell).Up(ctx, asked)
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot start the supervisor of the lab: the path of plimsoll is unknown: %w", err)
	}
	h, err := lab.Up(ctx, asked, lab.Options{Home: s.home, Executable: self})
	if err != nil {
		return err
	}
	return h.Close()
}

func (s *studyLabs) Down(ctx context.Context, name string) error {
	if pods := podLabs(s.home, nil); pods.Has(name) {
		return pods.Down(ctx, name)
	}
	return lab.Down(ctx, s.home, name, nil)
}

// checkStudyLab checks whether this machine can start the lab of a configuration, and whether that lab can do the run.
// Equal labs are checked once.
func checkStudyLab(ctx context.Context, env *environment) func(spec.Lab, spec.Run) error {
	known := map[string]error{}
	return func(l spec.Lab, asked spec.Run) error {
		home, err := homeDir(env)
		if err != nil {
			return err
		}
		key := study.LabKey(l)
		err, ok := known[key]
		if !ok {
			if l.InKubernetes() {
				err = podLabs(home, nil).Check(ctx, l)
			} else {
				_, err = lab.Plan(ctx, home, l)
			}
			known[key] = err
		}
		if err != nil || l.InKubernetes() {
			return err
		}
		if err := checkLabDurability(l, asked.Durability); err != nil {
			return err
		}
		return run.CheckLab(l, asked)
	}
}

// levelsOfDocumentDB are the levels with an address in a lab of documentdb.
var levelsOfDocumentDB = []string{"", "throughput", "balanced", "durable", "majority-unjournaled", "majority"}

func checkLabDurability(l spec.Lab, d spec.Durability) error {
	if l.Engine.Name == spec.LabNone {
		return errors.New("lab.engine.name: a lab with engine none has no database to load; use mongod or documentdb")
	}
	if l.Engine.Name != spec.LabDocumentDB {
		return nil
	}
	addresses := map[string]string{}
	for _, level := range levelsOfDocumentDB {
		addresses[level] = level
	}
	if n := l.Topology.Acknowledge; n > 0 { // with acknowledge, these two levels have other names
		for _, level := range []string{"majority-unjournaled", "majority"} {
			delete(addresses, level)
			by := strings.Replace(level, "majority", fmt.Sprintf("w%d", n), 1)
			addresses[by] = by
		}
	}
	_, _, err := topology.AddressFor(addresses, d, int(max(l.Topology.Members, 1)))
	return err
}
