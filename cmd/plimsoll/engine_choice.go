package main

import (
	"context"
	"slices"

	"github.com/spf13/pflag"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// engineFlags say which engine labs are made of, in the place of what a file says. Which one it is without them is decided by
// [lab.ChooseEngine] alone.
type engineFlags struct {
	engine, binary string
}

func (f *engineFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.engine, "engine", "", "engine of labs: mongod or documentdb (default: from the file; else mongod if installed, else documentdb)")
	fs.StringVar(&f.binary, "binary", "", "path of the mongod of labs (default: the newest installed one, then PATH)")
}

// check refuses an engine that there is not.
func (f *engineFlags) check() error {
	known := []string{engine.Mongod, engine.DocumentDB}
	switch {
	case f.engine != "" && !slices.Contains(known, f.engine):
		return usageError("--engine: unknown engine %q%s (known: mongod, documentdb)", f.engine, nearest.DidYouMean(f.engine, known))
	case f.binary != "" && f.engine == engine.DocumentDB:
		return usageError("--binary is for mongod, and --engine %s is another engine: remove one of them", f.engine)
	}
	return nil
}

// choose names the engine of a lab. Volumes without a server stay without one.
func (f *engineFlags) choose(ctx context.Context, env *environment, l *spec.Lab) {
	if l == nil || l.Engine.Name == engine.None {
		return
	}
	if f.binary != "" {
		l.Engine.Name, l.Engine.Binary = engine.Mongod, f.binary
	}
	if f.engine != "" {
		l.Engine.Name = f.engine
	}
	if home, err := homeDir(env); err == nil {
		lab.ChooseEngine(ctx, home, l)
	}
}
