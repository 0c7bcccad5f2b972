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

// engineFlags override the engine of labs. The default is decided by [lab.ChooseEngine] alone.
type engineFlags struct {
	engine, binary string
}

func (f *engineFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.engine, "engine", "", "`engine` of labs: mongod or documentdb (default: from the file; else mongod if installed, else documentdb)")
	fs.StringVar(&f.binary, "binary", "", "`path` of the mongod of labs (default: the newest installed one, then PATH)")
}

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

// choose sets the engine of a lab. Labs with engine none keep it.
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
