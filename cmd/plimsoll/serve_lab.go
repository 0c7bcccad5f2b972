package main

import (
	"context"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/serve"
)

type servedLabs struct{ home string }

// pageLabs returns the labs for pages, nil without a home directory.
func pageLabs(env *environment) serve.Labs {
	home, err := homeDir(env)
	if err != nil {
		return nil
	}
	return servedLabs{home}
}

// List returns all labs. Labs without a supervisor have the state failed.
func (s servedLabs) List(ctx context.Context) ([]record.Lab, error) {
	entries, err := lab.List(ctx, s.home)
	var labs []record.Lab
	for _, e := range entries {
		if !e.Alive {
			e.State = "failed"
		}
		labs = append(labs, e.Lab)
	}
	return labs, err
}

func (s servedLabs) View(ctx context.Context, name string) (*report.LabView, error) {
	h, err := lab.Open(ctx, s.home, name)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	v, err := viewOf(ctx, h)
	if err != nil {
		return nil, err
	}
	v.Events, err = h.EventsSince(ctx, 0)
	return v, err
}

func (s servedLabs) Heal(ctx context.Context, name string) error {
	h, err := lab.Open(ctx, s.home, name)
	if err != nil {
		return err
	}
	defer h.Close()
	_, err = h.Heal(ctx, lab.Healing{All: true})
	return err
}
