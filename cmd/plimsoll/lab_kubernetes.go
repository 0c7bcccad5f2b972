package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/plimsoll-bench/plimsoll/platform/kubernetes"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// podLabs are the labs in Kubernetes of this user. tell shows what one waits for.
func podLabs(home string, tell func(string)) kubernetes.Labs {
	return kubernetes.Labs{Dir: filepath.Join(home, "kubernetes"), Tell: tell}
}

// podLab is a lab in Kubernetes that a run loads.
type podLab struct{ *kubernetes.Lab }

// The members are known by their names in the cluster, and this process has ways to them.
func (l podLab) Address(ctx context.Context, _ spec.Durability) (run.LabAddress, error) {
	uri, err := l.URI(ctx)
	return run.LabAddress{URI: uri}, err
}

func (o *labUpOptions) inKubernetes(ctx context.Context, env *environment, home string, asked spec.Lab) error {
	if o.keep {
		return usageError("--keep is for labs on this machine: remove it")
	}
	var tell func(string)
	if !o.quiet {
		tell = func(text string) { fmt.Fprintf(env.stderr, "plimsoll: %s\n", text) }
	}
	ctx, stop := interruptible(ctx, env)
	defer stop()
	l, err := podLabs(home, tell).Up(ctx, asked)
	switch {
	case errors.Is(err, context.Canceled):
		return withExit(exitInterrupted, errors.New("interrupted; the lab was removed"))
	case err != nil:
		return withExit(exitUnreachable, err)
	}
	return printResult(env.stdout, &report.LabView{Lab: *l, New: true}, o.format)
}

// podStatus queries a lab in Kubernetes. A lab that is not up is shown as it was last known.
func podStatus(ctx context.Context, home, name string) (*report.LabView, error) {
	labs := podLabs(home, nil)
	known, err := labs.Find(name)
	if err != nil || known.State != "up" {
		return &report.LabView{Lab: *known}, err
	}
	l, err := labs.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	described, err := l.Describe(ctx, true)
	return &report.LabView{Lab: described}, err
}
