package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/internal/scratch"
)

type config struct {
	small    bool
	families string
	row      string
	seed     uint64
	n        int // trials of each row; 0 for those of the version
	update   bool

	scratch string // directory for temporary files
}

func main() {
	permit.Assume(permit.All)
	if serveFilesystem() {
		return
	}
	if role := os.Getenv(roleVariable); role != "" {
		if err := playRole(role, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "liars:", err)
			os.Exit(1)
		}
		return
	}
	var c config
	flag.BoolVar(&c.small, "small", false, "few trials of each row: the version of make ci, under two minutes")
	flag.StringVar(&c.families, "family", "", "run these families only, separated by commas: "+strings.Join(names(families()), ", "))
	flag.StringVar(&c.row, "row", "", "run these rows of one family only, separated by commas")
	flag.Uint64Var(&c.seed, "seed", 1, "seed of the first trial of each row; trial i has SEED + i")
	flag.IntVar(&c.n, "n", 0, "trials of each row (default: those of the version)")
	flag.BoolVar(&c.update, "update", false, "store the results in "+resultsDir+" and write "+trustPage)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends this process
	err := conduct(ctx, c, families(), os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "liars:", err)
		os.Exit(1)
	}
}

func names(all []family) (names []string) {
	for _, f := range all {
		names = append(names, f.name)
	}
	return names
}

// errGoals is the error of a campaign that missed a goal.
var errGoals = errors.New("goals are missed")

// conduct runs the campaign, prints the tables to out and the progress to log, and fails if a goal is missed.
func conduct(ctx context.Context, c config, all []family, out, log io.Writer) error {
	selected, err := c.selected(all)
	if err != nil {
		return err
	}
	if c.scratch, err = scratch.Make("", "plimsoll-liars-", abandoned); err != nil {
		return err
	}
	defer os.RemoveAll(c.scratch)
	results := map[string]result{}
	for _, f := range selected {
		fmt.Fprintf(log, "%s …\n", f.name)
		r, err := f.run(ctx, c, log)
		if err != nil {
			return err
		}
		fmt.Fprintf(log, "%s: %.1f s\n", f.name, r.Seconds)
		results[f.name] = r
	}
	fmt.Fprint(out, tables(selected, results))
	if c.update {
		if err := update(c, all, selected, results); err != nil {
			return err
		}
	}
	if t := tally(selected, results); t[missed] > 0 {
		return errGoals
	}
	return nil
}

// selected returns the families that c names, all if it names none.
func (c config) selected(all []family) ([]family, error) {
	if c.update && (c.small || c.n > 0) {
		return nil, errors.New("-update stores full results only: omit -small and -n")
	}
	if c.families == "" {
		if c.row != "" {
			return nil, errors.New("-row needs the -family of the row")
		}
		return all, nil
	}
	var selected []family
	for name := range strings.SplitSeq(c.families, ",") {
		i := slices.IndexFunc(all, func(f family) bool { return f.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no family %q: use %s", name, strings.Join(names(all), ", "))
		}
		selected = append(selected, all[i])
	}
	if c.row == "" {
		return selected, nil
	}
	for name := range strings.SplitSeq(c.row, ",") {
		if len(selected) > 1 || !slices.ContainsFunc(selected[0].rows, func(r row) bool { return r.name == name }) {
			return nil, fmt.Errorf("%s has no row %q", c.families, name)
		}
	}
	return selected, nil
}

// clone is the root of the repository.
func clone() (string, error) {
	out, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return "", fmt.Errorf("this runs in a clone only: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// update stores results. Those of some rows replace these rows in the stored result of their family.
func update(c config, all, selected []family, results map[string]result) error {
	root, err := clone()
	if err != nil {
		return err
	}
	var signed []result
	for _, f := range selected {
		r := results[f.name]
		if err := r.sign(root, time.Now()); err != nil {
			return err
		}
		signed = append(signed, r)
	}
	if c.row != "" {
		by, err := stored(root, all)
		if err != nil {
			return err
		}
		if old, ok := by[signed[0].Family]; ok {
			if signed[0], err = old.with(signed[0]); err != nil {
				return err
			}
		}
	}
	return store(root, all, signed)
}
