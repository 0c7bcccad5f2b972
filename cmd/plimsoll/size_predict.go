package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/capacity/predict"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// predict runs size with --backtest, --what-if or --simulate.
func (f *sizeFlags) predict(cmd *cobra.Command, env *environment, args []string) error {
	published := strings.HasPrefix(f.simulate, publishedPrefix) // which has its own figures
	switch {
	case len(args) == 0 && f.simulate != "" && !published:
		return usageError("%s --simulate needs records of runs, probes or drills, or a published document", cmd.CommandPath())
	case len(args) == 0 && f.simulate == "":
		return usageError("%s needs the directory of at least one study", cmd.CommandPath())
	case f.backtest && f.whatIf != "":
		return usageError("--backtest and --what-if are two questions: remove one of them")
	case f.simulate != "" && (f.backtest || f.whatIf != ""):
		return usageError("--simulate is another question than --backtest and --what-if: remove one of them")
	case f.need != "" || len(f.match) > 0:
		return usageError("--backtest, --what-if and --simulate do not take --need and --match: remove them")
	}
	if f.simulate != "" {
		return f.simulateDeployment(env, args)
	}
	if f.whatIf != "" {
		return f.answerWhatIf(env, args)
	}
	var factors []predict.Factor
	var left []string
	for _, arg := range args {
		more, refused, err := factorsOf(arg)
		if err != nil {
			return withExit(exitUsage, err)
		}
		factors, left = append(factors, more...), append(left, refused...)
	}
	b := predict.Backtest(factors, tool())
	for _, text := range left {
		b.Validity = append(b.Validity, measure.Finding{ID: "too-few-figures", Severity: measure.Note, Text: text})
	}
	if err := printResult(env.stdout, b, f.format); err != nil {
		return err
	}
	if b.Inner.Predicted()+b.Outer.Predicted() == 0 {
		return withExit(exitInvalid, errSilent)
	}
	return nil
}

// publishedPrefix is that of a published document where a record may be.
const publishedPrefix = "published:"

// factorsOf reads a study, or the sweeps of a published document.
func factorsOf(arg string) ([]predict.Factor, []string, error) {
	if ref, ok := strings.CutPrefix(arg, publishedPrefix); ok {
		return predict.Published(ref)
	}
	s, err := record.OpenStudy(arg)
	if err != nil {
		return nil, nil, err
	}
	factors, err := predict.Factors(arg, s)
	return factors, nil, err
}

func (f *sizeFlags) answerWhatIf(env *environment, args []string) error {
	var studies []predict.Study
	for _, dir := range args {
		s, err := record.OpenStudy(dir)
		if err != nil {
			return withExit(exitUsage, fmt.Errorf("--what-if: %w", err))
		}
		studies = append(studies, predict.Study{Dir: dir, Study: s})
	}
	w, err := predict.WhatIf(studies, f.whatIf, tool())
	if err != nil {
		return withExit(exitUsage, err)
	}
	if err := printResult(env.stdout, w, f.format); err != nil {
		return err
	}
	if w.High == nil {
		return withExit(exitInvalid, errSilent)
	}
	return nil
}

func (f *sizeFlags) simulateDeployment(env *environment, args []string) error {
	s, err := f.simulation(env, args)
	if err != nil {
		return err
	}
	if err := printResult(env.stdout, s, f.format); err != nil {
		return err
	}
	if len(s.Refused) > 0 {
		return withExit(exitInvalid, errSilent)
	}
	return nil
}

// simulation simulates the deployment of a file from records, or from a published document, which also has one.
func (f *sizeFlags) simulation(env *environment, args []string) (*record.Simulation, error) {
	asked := f.simulate
	if strings.HasPrefix(asked, publishedPrefix) {
		args, asked = append(args, asked), ""
	}
	var d *spec.Deployment
	if asked != "" {
		read, err := readSpec(env, asked, "deployment", "", spec.ReadDeployment)
		if err != nil {
			return nil, err
		}
		d = &read
	}
	if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, publishedPrefix) }) {
		if len(args) > 1 {
			return nil, usageError("--simulate takes one published document, or records: the figures of a document calibrate no records")
		}
		s, err := predict.SimulatePublished(strings.TrimPrefix(args[0], publishedPrefix), d, tool())
		if err != nil {
			return nil, withExit(exitUsage, fmt.Errorf("--simulate: %w", err))
		}
		return s, nil
	}
	evidence, err := predict.OpenEvidence(args)
	if err != nil {
		return nil, withExit(exitUsage, fmt.Errorf("--simulate: %w", err))
	}
	return predict.Simulate(*d, evidence, tool()), nil
}
