package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/plimsoll-bench/plimsoll/record"
)

// drillCSV writes one line per round, the first line being the header. Times are in seconds; a field is empty where
// nothing is known, or where it did not end.
func drillCSV(w io.Writer, d *record.Drill) error {
	out := csv.NewWriter(w)
	header := []string{"started", "drill", "target", "round", "status", "verdict", "level", "manner", "outage_s", "recovery_s", "redundant_s", "missing", "failed",
		"attempted", "acknowledged", "indeterminate", "not_applied", "lost", "loss_window_s", "members", "cpu_s", "service_cpu_s", "client_cpu_s", "written_bytes", "record"}
	if err := out.Write(header); err != nil {
		return err
	}
	for i := range d.Rounds {
		if err := out.Write(drillRow(d, &d.Rounds[i])); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func drillRow(d *record.Drill, r *record.DrillRound) []string {
	time := func(ns int64) string {
		if ns < 0 {
			return ""
		}
		return strconv.FormatFloat(float64(ns)/1e9, 'f', -1, 64)
	}
	outage, recovery, missing, failed, redundant := "", "", "", "", ""
	if e := r.Headline(); e != nil {
		outage, recovery, failed = time(e.Outage), time(e.Recovery), integer(e.Failed)
		missing = strconv.FormatFloat(e.Missing, 'f', -1, 64)
	}
	for _, m := range r.Moments {
		if m.Kind == record.MomentRedundant && len(r.Faults) > 0 {
			redundant = time(m.At - r.Faults[0].Injected)
		}
	}
	row := []string{d.Started.UTC().Format("2006-01-02T15:04:05Z"), d.Specification.Name, d.Specification.Run.Target,
		strconv.Itoa(r.Number), string(r.Status), string(r.Verdict),
		r.Level, r.Manner(), outage, recovery, redundant, missing, failed}
	ledger := make([]string, 6)
	if l := r.Ledger; l != nil {
		ledger = []string{integer(l.Attempted), integer(l.Acknowledged), integer(l.Indeterminate), integer(l.NotApplied),
			integer(l.LostWrites()), time(l.LossWindow)}
	}
	return append(append(append(row, ledger...), drillUsed(r)...), r.Record)
}

// drillUsed are the members of a round and what it used, empty where nothing is known.
func drillUsed(r *record.DrillRound) []string {
	known := func(x float64) string {
		if x <= 0 {
			return ""
		}
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return []string{known(float64(r.Members)), known(r.CPUSeconds), known(r.ServiceCPUSeconds), known(r.ClientCPUSeconds),
		known(float64(r.WrittenBytes))}
}
