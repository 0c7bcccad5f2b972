package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/shellword"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload"
	workloadfile "github.com/plimsoll-bench/plimsoll/workload/own"
)

// workloadFlags are those of the commands that read a workload file.
type workloadFlags struct {
	settings
	engine string
	number int
}

// open reads and compiles the workload file.
func (f *workloadFlags) open(path string) (*workloadfile.Plan, spec.Run, error) {
	asked := spec.Run{Target: "null:", Workload: spec.Workload{Name: path}}
	if !asked.Workload.IsFile() {
		return nil, asked, usageError("%s is not a workload file: its name must end in .yaml, .yml or .json", path)
	}
	if err := f.apply(&asked); err != nil {
		return nil, asked, err
	}
	if err := asked.Complete(); err != nil {
		return nil, asked, withExit(exitUsage, f.named(err))
	}
	w, err := workloadfile.Open(workload.Spec{
		Text: asked.Workload.Text(), Records: int64(asked.Workload.Records), Seed: asked.Workload.Seed})
	if err != nil {
		return nil, asked, withExit(exitUsage, err)
	}
	return w.(*workloadfile.Plan), asked, nil
}

func (f *workloadFlags) command(use, short, long string,
	do func(*workloadfile.Plan, spec.Run) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use + " FILE.yaml", Short: short, Long: long,
		Args: exactlyOne("workload file"), ValidArgsFunction: specificationFiles,
		RunE: func(_ *cobra.Command, args []string) error {
			p, asked, err := f.open(args[0])
			if err != nil {
				return err
			}
			return do(p, asked)
		},
	}
	f.settings = addSettings(cmd, &spec.Run{Workload: spec.Workload{Seed: 1}}, replaced(only(runSettings, "seed", "records"),
		key("records", "workload.records", "number of documents in all collections; scales their counts")))
	return cmd
}

func newWorkloadCheckCommand(env *environment) *cobra.Command {
	f := &workloadFlags{}
	cmd := f.command("check", "Check workload files, and whether an engine can do them", `Check workload files without a database. Errors name the line, the key and the nearest known word.

A pipeline that names a database, for example in $merge, is refused, because a workload stays in the database of its
run. --allow-other-databases allows databases.

With --engine, check also that the engine can do every operation and has every index: embedded, documentdb (the
open engine) or standalone (a mongod without a replica set). A mongod in a replica set can do all.`,
		func(p *workloadfile.Plan, asked spec.Run) error {
			if err := run.CheckEngine(asked, f.engine); err != nil {
				return withExit(exitUsage, err)
			}
			printWorkload(env, p)
			file := shellword.Quote(asked.Workload.Name)
			if run.CheckEngine(asked, "embedded") == nil {
				nextStep(env.stdout, "plimsoll run --workload "+file, "on the embedded store")
			} else { // it needs more than the embedded store has
				nextStep(env.stdout, "plimsoll workload sample "+file, "documents and operations, as a run makes them")
			}
			return nil
		})
	check := cmd.RunE
	cmd.Use, cmd.Args = "check FILE.yaml…", atLeastOne("workload file")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var errs []error
		for i, file := range args {
			if i > 0 {
				fmt.Fprintln(env.stdout)
			}
			err := check(cmd, []string{file})
			if err != nil && len(args) > 1 {
				err = fmt.Errorf("%s: %w", file, err)
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
	f.settings = append(f.settings, addSettings(cmd, &spec.Run{}, only(runSettings, "allow-other-databases"))...)
	cmd.Flags().StringVar(&f.engine, "engine", "", "check what an `engine` can do: embedded, documentdb or standalone")
	_ = cmd.RegisterFlagCompletionFunc("engine", completions("embedded", "documentdb", "standalone"))
	return cmd
}

// printWorkload prints the sizes of the collections and the shares of the operations.
func printWorkload(env *environment, p *workloadfile.Plan) {
	fmt.Fprintf(env.stdout, "workload %s\n\n", visible.Line(p.Name()))
	t := table{left: 1}
	t.row("collection", "documents", "mean size", "data")
	for _, c := range p.Contents() {
		t.row(c.Name, figure.Count(c.Documents), figure.Bytes(c.MeanSize), figure.Bytes(c.Documents*c.MeanSize))
	}
	t.write(env.stdout, "")
	fmt.Fprintln(env.stdout)
	t = table{left: 1}
	t.row("operation", "share")
	for _, o := range p.Shares() {
		t.row(o.Name, figure.Percent(o.Share))
	}
	t.write(env.stdout, "")
}

func newWorkloadShowCommand(env *environment) *cobra.Command {
	f := &workloadFlags{}
	cmd := f.command("show", "Print the parameters of a built-in workload, or the commands of a file", `Print the parameters of a built-in workload. Of a workload file, print a document of each collection and each
operation once, as the commands that a client sends, in Extended JSON. Clients add the session, the database and the
concerns of the run. Values from answers are null, because no database is queried.`,
		func(p *workloadfile.Plan, _ spec.Run) error {
			for _, name := range p.Collections() {
				if doc := p.Document(name, 0); doc != nil {
					if err := printExtended(env, name, doc); err != nil {
						return err
					}
				}
			}
			return printSamples(env, p.Each())
		})
	ofFile := cmd.RunE
	cmd.Use, cmd.Args = "show NAME|FILE.yaml", exactlyOne("workload")
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		return workloadNames(cmd, args, word), cobra.ShellCompDirectiveDefault
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if asked := (spec.Workload{Name: args[0]}); !asked.IsFile() {
			return showParameters(env, args[0])
		}
		return ofFile(cmd, args)
	}
	return cmd
}

func newWorkloadSampleCommand(env *environment) *cobra.Command {
	f := &workloadFlags{}
	cmd := f.command("sample", "Print the first operations of a virtual user of a workload file", `Print the first operations of one virtual user in their order, with its think times, as the commands that a
client sends. The same seed gives the same operations.`,
		func(p *workloadfile.Plan, _ spec.Run) error { return printSamples(env, p.Sample(f.number)) })
	cmd.Flags().IntVarP(&f.number, "number", "n", 10, "`number` of operations")
	return cmd
}

func printSamples(env *environment, list []workloadfile.Sample) error {
	for _, s := range list {
		if s.Think != "" {
			fmt.Fprintf(env.stdout, "# waits %s\n", s.Think)
		}
		for _, c := range s.Commands {
			if err := printExtended(env, s.Class, c.Command); err != nil {
				return err
			}
			if c.Omitted > 0 {
				fmt.Fprintf(env.stdout, "# and %d more in this batch\n", c.Omitted)
			}
		}
	}
	return nil
}

func printExtended(env *environment, name string, v any) error {
	b, err := bson.MarshalExtJSON(v, false, false)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.stdout, "%s: %s\n", visible.Line(name), b)
	return err
}
