package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/capacity"
	"github.com/plimsoll-bench/plimsoll/capacity/predict"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/report"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// calibrate reads the records of --predict. The probe writes a journal as the calibrated engine does, with records of
// its size.
func (f *diskFlags) calibrate(cmd *cobra.Command, s *record.ProbeSpec) error {
	if len(f.predict) == 0 {
		return nil
	}
	if !slices.Contains(s.Profiles, spec.ProbeJournal) {
		return usageError("--predict needs the profile journal: add it to --profile")
	}
	for _, dir := range f.predict {
		c, err := predict.OpenCalibration(dir)
		if err != nil {
			return withExit(exitUsage, fmt.Errorf("--predict: %w", err))
		}
		f.calibrations = append(f.calibrations, c)
	}
	first := f.calibrations[0]
	if log := predict.LogOf(first.Run.Target.Kind); log != "" && !cmd.Flags().Changed("log") {
		s.Log = log
	}
	if size, err := first.RecordBytes(); err == nil && !cmd.Flags().Changed("record") {
		s.Record = size
	}
	return nil
}

// holdPrediction compares the prediction of a probe with runs.
func holdPrediction(env *environment, args []string, f judgeFlags, out string) error {
	p, err := record.OpenProbe(args[0])
	if err != nil {
		return withExit(exitUsage, err)
	}
	if p.Prediction == nil {
		return usageError("%s is a probe without a prediction: make one with plimsoll disk --predict", args[0])
	}
	var runs []predict.Calibration
	for _, dir := range capacity.Below(args[1:]) {
		c, err := predict.OpenCalibration(dir)
		if err != nil {
			return withExit(exitUsage, err)
		}
		runs = append(runs, c)
	}
	p.Prediction = predict.Hold(p.Prediction, runs)
	if out != "" {
		if err := record.WriteProbe(out, p); err != nil {
			return err
		}
	}
	held := &report.Prediction{Probe: p}
	if err := f.write(env, func(w io.Writer) error { return printResult(w, held, f.format) }); err != nil {
		return err
	}
	if p.Prediction.RateError == nil {
		return withExit(exitInvalid, errSilent)
	}
	return nil
}
