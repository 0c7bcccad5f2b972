package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/capacity/predict"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// predict runs size with --backtest, --what-if or --failures.
func (f *sizeFlags) predict(cmd *cobra.Command, env *environment, args []string) error {
	switch {
	case len(args) == 0 && f.failures != "":
		return usageError("%s --failures needs the directories of drills", cmd.CommandPath())
	case len(args) == 0:
		return usageError("%s needs the directory of at least one study, or of a capacity for --what-if", cmd.CommandPath())
	case f.backtest && f.whatIf != "":
		return usageError("--backtest and --what-if are two questions: remove one of them")
	case f.failures != "" && (f.backtest || f.whatIf != ""):
		return usageError("--failures is another question than --backtest and --what-if: remove one of them")
	case f.need != "" || len(f.match) > 0:
		return usageError("--backtest, --what-if and --failures do not take --need and --match: remove them")
	}
	if f.failures != "" {
		return f.answerFailures(env, args)
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
	return f.conclude(env, b, b.Inner.Predicted()+b.Outer.Predicted() > 0)
}

// conclude prints an answer. known is false if there is none.
func (f *sizeFlags) conclude(env *environment, answer any, known bool) error {
	if err := printResult(env.stdout, answer, f.format); err != nil || known {
		return err
	}
	return ending(record.Incredible)
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
	if len(args) == 1 && record.KindIn(args[0]) == record.KindCapacity {
		line, err := record.OpenCapacity(args[0])
		if err != nil {
			return withExit(exitUsage, fmt.Errorf("--what-if: %w", err))
		}
		w, err := predict.WhatIfLine(predict.Line{Dir: args[0], Capacity: line}, f.whatIf, tool())
		if err != nil {
			return withExit(exitUsage, err)
		}
		return f.conclude(env, w, w.High != nil)
	}
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
	return f.conclude(env, w, w.High != nil)
}

func (f *sizeFlags) answerFailures(env *environment, args []string) error {
	var drills []predict.Drilled
	for _, dir := range args {
		d, err := record.OpenDrill(dir)
		if err != nil {
			return withExit(exitUsage, fmt.Errorf("--failures: %w", err))
		}
		drills = append(drills, predict.Drilled{Dir: dir, Drill: d})
	}
	cost, err := predict.Failures(drills, f.failures, tool())
	if err != nil {
		return withExit(exitUsage, err)
	}
	return f.conclude(env, cost, cost.Year != nil)
}
