package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/lab/volume"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Planned is the lab that a specification gives on this machine.
type Planned struct {
	Spec    spec.Lab // with all defaults
	Layout  topology.Layout
	Storage record.LabLayout
	Engine  engine.Installation
}

// ChooseEngine chooses the engine for a specification that names none: mongod if it is installed or on PATH, otherwise
// documentdb.
func ChooseEngine(ctx context.Context, home string, asked *spec.Lab) {
	if asked.Engine.Name != "" || asked.InKubernetes() { // which has one engine
		return
	}
	asked.Engine.Name = engine.DocumentDB
	if e, err := engine.ByName(home, engine.Mongod); err == nil {
		if _, err = e.Installed(ctx); err == nil || asked.Engine.Binary != "" {
			asked.Engine.Name = engine.Mongod
		}
	}
}

// Plan checks a complete specification against this machine and returns the lab that it gives. It makes nothing. If ctx
// permits no programs, the release of a mongod that Plimsoll did not install is unknown, and no mongod is asked whether
// it accepts the parameters and arguments: the note of the layout says so.
func Plan(ctx context.Context, home string, asked spec.Lab) (Planned, error) {
	p := Planned{Spec: asked}
	if asked.Storage.Dir != "" { // the supervisor does not work in this directory
		dir, err := filepath.Abs(asked.Storage.Dir)
		if err != nil {
			return p, refuse("storage.dir: %v", err)
		}
		asked.Storage.Dir = dir
	}
	p.Spec = asked
	var errs [4]error
	errs[0] = host.Check(asked.Hosts.Mode)
	p.Layout, errs[1] = topology.Plan(asked)
	p.Layout.Notes = append(p.Layout.Notes, thisMachine().notes(p.Layout.Hosts)...)
	p.Storage, errs[2] = volume.Plan(asked.Storage, volume.Detect())
	if errs[1] == nil && errs[2] == nil {
		errs[2] = volume.Check(asked.Storage, p.Storage, volumesOf(p.Layout), labsDir(home))
	}
	p.Engine, errs[3] = findEngine(ctx, home, asked)
	if errors.Join(errs[:]...) == nil {
		errs[3] = topology.Check(ctx, home, asked)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return p, refuse("%s", err)
	}
	if asked.Engine.Name == engine.Mongod && !permit.Has(ctx, permit.Execute) {
		p.Layout.Notes = append(p.Layout.Notes, notStarted)
	}
	return p, nil
}

// notStarted is the note of a plan that was made without starting mongod.
const notStarted = "a plan starts no program, so mongod's parameters and arguments, and its release if plimsoll did not " +
	"install it, are not checked yet; the start of the lab checks them"

func volumesOf(l topology.Layout) int {
	n := 0
	for _, m := range l.Members {
		if m.Volume {
			n++
		}
	}
	return n
}

func findEngine(ctx context.Context, home string, asked spec.Lab) (engine.Installation, error) {
	if asked.Engine.Name == engine.None {
		return engine.Installation{Engine: engine.None}, nil
	}
	if asked.Engine.Name == engine.DocumentDB && os.Geteuid() != 0 {
		return engine.Installation{}, errors.New("engine: documentdb needs root, because PostgreSQL runs in a separate root " +
			"directory. Run plimsoll as root, or use mongod, which runs as any user")
	}
	if asked.Engine.Binary != "" {
		return engine.MongodAt(ctx, asked.Engine.Binary)
	}
	e, err := engine.ByName(home, asked.Engine.Name)
	if err != nil {
		return engine.Installation{}, err
	}
	return e.Installed(ctx)
}
