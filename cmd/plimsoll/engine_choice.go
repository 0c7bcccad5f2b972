package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// engineFlags override the engine of labs. The default is decided by [lab.ChooseEngine] alone.
type engineFlags struct{ settings }

func (f *engineFlags) add(cmd *cobra.Command) {
	f.settings = addSettings(cmd, &spec.Lab{}, engineSettings)
}

func (f *engineFlags) check() error {
	var l spec.Lab
	if err := f.apply(&l); err != nil {
		return err
	}
	known := []string{engine.Mongod, engine.DocumentDB}
	switch name := l.Engine.Name; {
	case name != "" && !slices.Contains(known, name):
		return usageError("--engine: unknown engine %q%s (known: mongod, documentdb)", name, nearest.DidYouMean(name, known))
	case l.Engine.Binary != "" && name == engine.DocumentDB:
		return usageError("--binary is for mongod, and --engine %s is another engine: remove one of them", name)
	}
	return nil
}

// choose sets the engine of a lab. Labs with engine none keep it.
func (f *engineFlags) choose(ctx context.Context, env *environment, l *spec.Lab) {
	if l == nil || l.Engine.Name == engine.None {
		return
	}
	if slices.Contains(f.given(), "binary") {
		l.Engine.Name = engine.Mongod
	}
	_ = f.apply(l) // check has applied it once
	if home, err := homeDir(env); err == nil {
		lab.ChooseEngine(ctx, home, l)
	}
}
