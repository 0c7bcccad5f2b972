package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/lab/volume"
	"github.com/plimsoll-bench/plimsoll/record"
)

// Planned is what would be made of a specification on this machine.
type Planned struct {
	Spec    record.LabSpec // with all defaults
	Layout  topology.Layout
	Storage record.LabLayout
	Engine  engine.Installation
}

// ChooseEngine names the engine for a specification that names none: mongod if there is one, because that is what users
// have, and documentdb otherwise.
func ChooseEngine(ctx context.Context, home string, spec *record.LabSpec) {
	if spec.Engine.Name != "" {
		return
	}
	spec.Engine.Name = engine.DocumentDB
	if e, err := engine.ByName(home, engine.Mongod); err == nil {
		if _, err = e.Installed(ctx); err == nil || spec.Engine.Binary != "" {
			spec.Engine.Name = engine.Mongod
		}
	}
}

// Plan checks a specification against this machine and says what would be made. Nothing is made.
func Plan(ctx context.Context, home string, spec record.LabSpec) (Planned, error) {
	chosen := spec.Engine.Name == ""
	ChooseEngine(ctx, home, &spec)
	spec.Defaults()
	p := Planned{Spec: spec}
	if err := spec.Validate(); err != nil {
		return p, refuse("%s", err)
	}
	if spec.Storage.Dir != "" { // the supervisor does not work in this directory
		dir, err := filepath.Abs(spec.Storage.Dir)
		if err != nil {
			return p, refuse("storage.dir: %v", err)
		}
		spec.Storage.Dir = dir
	}
	p.Spec = spec
	var errs [4]error
	errs[0] = host.Check(spec.Hosts.Mode)
	p.Layout, errs[1] = topology.Plan(spec)
	p.Layout.Notes = append(p.Layout.Notes, thisMachine().notes(p.Layout.Hosts)...)
	p.Storage, errs[2] = volume.Plan(spec.Storage, volume.Detect(ctx))
	if errs[1] == nil && errs[2] == nil {
		errs[2] = volume.Check(spec.Storage, p.Storage, volumesOf(p.Layout), labsDir(home))
	}
	p.Engine, errs[3] = findEngine(ctx, home, spec)
	if errs[3] != nil && chosen && spec.Engine.Name == engine.DocumentDB {
		errs[3] = fmt.Errorf("%w; documentdb was chosen because there is no mongod, neither installed nor on PATH", errs[3])
	}
	if errors.Join(errs[:]...) == nil {
		errs[3] = topology.Check(ctx, home, spec)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return p, refuse("%s", err)
	}
	return p, nil
}

// volumesOf is how many members have storage of their own.
func volumesOf(l topology.Layout) int {
	n := 0
	for _, m := range l.Members {
		if m.Volume {
			n++
		}
	}
	return n
}

// findEngine finds the software that would be started.
func findEngine(ctx context.Context, home string, spec record.LabSpec) (engine.Installation, error) {
	if spec.Engine.Name == engine.None {
		return engine.Installation{Engine: engine.None}, nil
	}
	if spec.Engine.Name == engine.DocumentDB && os.Geteuid() != 0 {
		return engine.Installation{}, fmt.Errorf("engine: documentdb runs as root only, because PostgreSQL lives in a root directory of its own: call plimsoll as root, or take mongod, which runs as any user")
	}
	if spec.Engine.Binary != "" {
		return engine.MongodAt(ctx, spec.Engine.Binary)
	}
	e, err := engine.ByName(home, spec.Engine.Name)
	if err != nil {
		return engine.Installation{}, err
	}
	return e.Installed(ctx)
}
