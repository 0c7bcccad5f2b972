package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/record"
)

// labUpOptions are the flags of `plimsoll lab up` that are not in the specification.
type labUpOptions struct {
	flags  *labFlags
	format string
	keep   bool
	quiet  bool
}

func newLabUpCommand(env *environment) *cobra.Command {
	var o labUpOptions
	cmd := &cobra.Command{
		Use:   "up [SPEC.yaml]",
		Short: "Start a lab and print its address",
		Long: `Start a lab and print its address, hosts, members and volumes. The command returns when clients can use the
lab. The lab runs until 'plimsoll lab down'. If it cannot start, or on Ctrl-C, it is removed.

SPEC.yaml describes the lab ('plimsoll lab init' writes an example); flags override it. Without file and flags,
the lab is one server on this machine's disk.`,
		Example: `  plimsoll lab up --members 3 --election elect-fast --name three
  plimsoll lab up --members 3 --hosts isolated --cores 1 --memory 1GiB --size 4GiB --tolerate 1
  plimsoll lab up lab.yaml --format json`,
		Args: atMostOne("file"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, env, args) },
	}
	o.flags = addLabFlags(cmd)
	formatFlag(cmd.Flags(), &o.format, "lab", "text", "md", "json")
	cmd.Flags().BoolVar(&o.keep, "keep", false, "keep a lab that cannot start, for inspection")
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "show no progress")
	return cmd
}

func (o *labUpOptions) run(cmd *cobra.Command, env *environment, args []string) error {
	spec, err := o.flags.spec(env, args)
	if err != nil {
		return err
	}
	home, err := homeDir(env)
	if err != nil {
		return err
	}
	if err := o.flags.complete(cmd.Context(), home, &spec); err != nil {
		return err
	}
	if spec.InKubernetes() {
		return o.inKubernetes(cmd.Context(), env, home, spec)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot start the supervisor of the lab: the path of plimsoll is unknown: %w", err)
	}
	ctx, stop := interruptible(cmd.Context(), env)
	defer stop()
	h, err := lab.Up(ctx, spec, lab.Options{Home: home, Executable: self, Keep: o.keep,
		Progress: labProgress(env, o.quiet)})
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return withExit(exitInterrupted, errors.New("interrupted; the lab was removed"))
		}
		return labError(o.flags.named(err))
	}
	defer h.Close()
	v, err := viewOf(ctx, h)
	if err != nil {
		return labError(err)
	}
	v.New = true
	return printResult(env.stdout, v, o.format)
}

// labProgress prints events of a lab with the time since the first one.
func labProgress(env *environment, quiet bool) func(record.LabEvent) {
	if quiet {
		return nil
	}
	var begin time.Time
	return func(e record.LabEvent) {
		if begin.IsZero() {
			begin = e.Time
		}
		fmt.Fprintf(env.stderr, "%6.1fs  %s\n", e.Time.Sub(begin).Seconds(), e.Text)
	}
}

func newLabDownCommand(env *environment) *cobra.Command {
	var all, quiet bool
	cmd := &cobra.Command{
		Use:   "down NAME…",
		Short: "Remove labs and their data",
		Long: `Remove labs: servers, hosts, volumes and all data. This also works for labs that are incomplete, whose
supervisor was killed, or whose removal was interrupted.`,
		Example: `  plimsoll lab down three
  plimsoll lab down --all`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return usageError("%s needs the names of labs, or --all", cmd.CommandPath())
			}
			if all {
				args = allLabs(env)
			}
			return labDown(cmd.Context(), env, args, quiet)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return allLabs(env), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "remove all labs")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "show no progress")
	return cmd
}

// labDown removes labs one after another, also after an error.
func labDown(ctx context.Context, env *environment, names []string, quiet bool) error {
	ctx, stop := interruptible(ctx, env)
	defer stop()
	home, err := homeDir(env)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		begin := env.now()
		if pods := podLabs(home, nil); pods.Has(name) {
			if err := pods.Down(ctx, name); err != nil {
				errs = append(errs, err)
				continue
			}
			fmt.Fprintf(env.stdout, "%s was removed (%s)\n", name, figure.Duration(env.now().Sub(begin)))
			continue
		}
		if _, err := lab.Find(ctx, home, name); errors.Is(err, lab.ErrNoLab) {
			errs = append(errs, labError(err))
			continue
		}
		progress := func(e record.LabEvent) {
			if !quiet {
				fmt.Fprintf(env.stderr, "%s: %s\n", name, e.Text)
			}
		}
		if err := lab.Down(ctx, home, name, progress); err != nil {
			errs = append(errs, labError(err))
			continue
		}
		fmt.Fprintf(env.stdout, "%s was removed (%s)\n", name, figure.Duration(env.now().Sub(begin)))
	}
	return errors.Join(errs...)
}
