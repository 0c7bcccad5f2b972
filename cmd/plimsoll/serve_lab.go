package main

import (
	"context"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report/html"
	"github.com/plimsoll-bench/plimsoll/serve"
)

// servedLabs are the labs of this machine on a page.
type servedLabs struct{ home string }

// pageLabs are the labs that a page shows, nil where there is no place for any.
func pageLabs(env *environment) serve.Labs {
	home, err := homeDir(env)
	if err != nil {
		return nil
	}
	return servedLabs{home}
}

// List returns all labs. One whose supervisor is gone is not up, whatever it said last.
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

// View asks a lab how it stands.
func (s servedLabs) View(ctx context.Context, name string) (html.LabView, error) {
	var v html.LabView
	h, err := lab.Open(ctx, s.home, name)
	if err != nil {
		return v, err
	}
	defer h.Close()
	if v.Lab, err = h.Describe(ctx, true); err != nil {
		return v, err
	}
	if v.Usage, err = h.Usage(ctx); err != nil {
		return v, err
	}
	v.Events, err = h.EventsSince(ctx, 0)
	return v, err
}

// Heal undoes everything that was broken in a lab.
func (s servedLabs) Heal(ctx context.Context, name string) error {
	h, err := lab.Open(ctx, s.home, name)
	if err != nil {
		return err
	}
	defer h.Close()
	_, err = h.Heal(ctx, lab.Healing{All: true})
	return err
}
