package record

import (
	"encoding/json"
	"maps"
	"math"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/mac"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// KindStudy is the kind of records of studies.
const KindStudy = "study"

// The files of a study besides the records of its trials, which are directories below TrialsDir.
const (
	StudyFile    = "study.json"
	JournalFile  = "trials.ndjson" // one line per event of a trial, appended and synced: what resume relies on
	LockFile     = "lock"
	TrialsDir    = "trials"
	ProceduresIn = "procedures" // below it: the records of the procedures' trials
)

// Study is study.json: everything about a study except the records of its trials.
type Study struct {
	Head
	// Engine is the engine of the labs with its version, such as "mongod 8.0.12", or that of a target that is not MongoDB;
	// absent if it is not known.
	Engine string `json:"engine,omitempty"`
	// VSphere is what vCenter reports of the members' machines at the beginning; absent without a platform.
	VSphere *VSphere `json:"vsphere,omitempty"`
	// Specification is the complete specification, with its scale applied, without credentials.
	Specification spec.Study `json:"specification"`
	// MAC shows that the user who resumes the study wrote its specification: HMAC-SHA256 with a key of this user.
	MAC string `json:"mac,omitempty"`
	// Asked is the specification as it was given, in the hardware of a document; absent if it has no scale.
	Asked *spec.Study `json:"asked,omitempty"`
	// Base is the base run with the choices of the procedures.
	Base spec.Run `json:"base"`
	// Procedures are the results of the procedures.
	Procedures []ProcedureResult `json:"procedures,omitempty"`
	// Capacity is the measured capacity; absent without that procedure.
	Capacity *CapacityResult `json:"capacity,omitempty"`
	// Configurations are the points of the study; the first one is the baseline.
	Configurations []Configuration `json:"configurations"`
	// Trials are all trials in the order in which they are to be run, with any outcome.
	Trials []Trial `json:"trials"`
	// Canary is what the repeated baseline showed.
	Canary *CanaryResult `json:"canary,omitempty"`
	// Looks are the states of the study in which it had verdicts, in order of time.
	Looks []Look `json:"looks,omitempty"`
	// Comparisons hold each configuration against the baseline, metric by metric.
	Comparisons []Comparison `json:"comparisons,omitempty"`
	// Effects are the main effects of the levels, where combinations of several factors were run.
	Effects []Effect `json:"effects,omitempty"`
	// Objectives are those of the study, for each configuration.
	Objectives []ConfigurationObjective `json:"objectives,omitempty"`
}

var _ signed = (*Study)(nil)

func (s *Study) sign(k *mac.Key) (err error) {
	s.MAC, err = k.Code(KindStudy, s.Specification)
	return err
}

// Own says whether the user of a key wrote the specification.
func (s *Study) Own(k *mac.Key) bool { return k.Valid(KindStudy, s.Specification, s.MAC) }

// Look is a state of a study in which it had verdicts. A study that is continued after a look has another one.
type Look struct {
	// Trials is the number of valid trials.
	Trials int `json:"trials"`
	// Level is the level of the tests: the share of 1 − confidence that this look uses. All looks use at most 1 −
	// confidence together.
	Level float64 `json:"level"`
}

// Configuration is one point of a study: the base run with some keys changed.
type Configuration struct {
	// ID is stable: it is made of the levels, for example "workers=16,workload=b", or "baseline".
	ID string `json:"id"`
	// Levels are the names of the levels by the names of the factors.
	Levels map[string]string `json:"levels,omitempty"`
	// Set are the values by the paths of the run specification that differ from the base.
	Set map[string]any `json:"set,omitempty"`
	// Factor is the one that differs from the baseline where only one does.
	Factor string `json:"factor,omitempty"`
	// Baseline is true for the configuration that all others are compared with.
	Baseline bool `json:"baseline,omitempty"`
	// Same are the IDs of other combinations of levels that are the same run, and are not run again.
	Same []string `json:"same,omitempty"`
	// Exploratory configurations do not decide about the objectives.
	Exploratory bool `json:"exploratory,omitempty"`
}

// BaselineID returns the configuration that all others are compared with, "" without configurations.
func (s *Study) BaselineID() string {
	for _, c := range s.Configurations {
		if c.Baseline {
			return c.ID
		}
	}
	if len(s.Configurations) > 0 {
		return s.Configurations[0].ID
	}
	return ""
}

// Finite returns nil for NaN and infinity, which JSON does not have.
func Finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// UnmarshalJSON reads a configuration; whole numbers in Set become int again, as they were when it was made.
func (c *Configuration) UnmarshalJSON(b []byte) error {
	type fields Configuration
	if err := json.Unmarshal(b, (*fields)(c)); err != nil {
		return err
	}
	spec.Plain(c.Set)
	return nil
}

// Twins are the other levels of a factor that are the same run as a configuration, and were not run again: it stands
// for each of them.
func (c *Configuration) Twins(f *spec.Factor) []*Configuration {
	var list []*Configuration
	for _, id := range c.Same {
		level, ok := strings.CutPrefix(id, f.Title()+"=")
		if !ok || f.Place(level) < 0 {
			continue // of another factor, or of several
		}
		twin := *c
		twin.Levels = map[string]string{}
		maps.Copy(twin.Levels, c.Levels)
		twin.Levels[f.Title()] = level
		list = append(list, &twin)
	}
	return list
}

// What a trial is for.
const (
	TrialCompared = "trial"     // counts in the comparison
	TrialCanary   = "canary"    // shows drift and nothing else
	TrialSearch   = "procedure" // belongs to a procedure
)

// TrialStatus says what became of a trial.
type TrialStatus string

const (
	// TrialPlanned: it has not begun.
	TrialPlanned TrialStatus = "planned"
	// TrialRunning: it has begun, and not ended as far as is known.
	TrialRunning TrialStatus = "running"
	// TrialDone: its record counts.
	TrialDone TrialStatus = "done"
	// TrialFailed: it ended without a result that counts. It is kept and shown.
	TrialFailed TrialStatus = "failed"
	// TrialTimeout: it was ended by its deadline.
	TrialTimeout TrialStatus = "timeout"
	// TrialLost: it was under way when the study was killed, and is repeated as another attempt.
	TrialLost TrialStatus = "lost"
	// TrialLeft: it was left out while the study was under way, because the time was not enough; Problem says so. A whole
	// block is left out or none of it.
	TrialLeft TrialStatus = "left out"
)

// Begun says whether a trial ever began: it is neither planned nor left out.
func (s TrialStatus) Begun() bool { return s != TrialPlanned && s != TrialLeft }

// Trial is a run at one point of a study.
type Trial struct {
	// Number counts the trials of a study from 1 in the order of the plan. A repetition keeps it.
	Number int `json:"number"`
	// Attempt counts from 1; trials that were lost or failed may be repeated on resume.
	Attempt int `json:"attempt"`
	// Block is the repetition to which it belongs, from 1; 0 for canaries and procedures.
	Block         int    `json:"block"`
	Configuration string `json:"configuration"`
	// Kind is what it is for: trial, canary or procedure.
	Kind   string      `json:"kind" jsonschema:"enum=trial,enum=canary,enum=procedure"`
	Status TrialStatus `json:"status" jsonschema:"enum=planned,enum=running,enum=done,enum=failed,enum=timeout,enum=lost,enum=left out"`
	// Problem is why it failed or was left out.
	Problem string `json:"problem,omitempty"`
	// Record is its directory, relative to that of the study.
	Record  string     `json:"record,omitempty"`
	Started *time.Time `json:"started,omitempty"`
	// Seconds is how long it took, loading included.
	Seconds float64 `json:"seconds,omitempty"`
	// Redeployed is how many seconds it took to bring up the lab of the study for it, after another one was removed; 0 if
	// it ran on the lab of the trial before. It is no part of Seconds.
	Redeployed float64 `json:"redeploy_seconds,omitempty"`
	// Storage is the change of the disks' storage policy before it; absent if its study has none.
	Storage *StorageChange `json:"storage,omitempty"`
	// Values are its results by metric: operations per second, nanoseconds or shares. What could not be stated is absent.
	Values map[string]float64 `json:"values,omitempty"`
	// NoAnswer are the metrics of times that have no answer, because more operations did not succeed than lie above them.
	NoAnswer []string `json:"no_answer,omitempty"`
	// Validity are the findings of its run that are warnings or worse.
	Validity []measure.Finding `json:"validity,omitempty"`
}

// Preparing is how many seconds its lab and its storage policy took.
func (t *Trial) Preparing() float64 {
	if t.Storage == nil {
		return t.Redeployed
	}
	return t.Redeployed + t.Storage.Seconds
}

// CanaryResult is what repeated trials of the baseline showed about drift.
type CanaryResult struct {
	Metric string `json:"metric"`
	N      int    `json:"n"`
	// Drift is the trend from the first to the last canary as a share of where it began: exp(slope of the logarithms ×
	// time) − 1, so never below −1. P is that of Mann-Kendall.
	Drift float64  `json:"drift"`
	P     *float64 `json:"p" jsonschema:"nullable"`
	// Spread is (max − min) / median.
	Spread float64 `json:"spread"`
}

// ConfigurationObjective is one objective evaluated on the trials of one configuration.
type ConfigurationObjective struct {
	Configuration string `json:"configuration"`
	Objective     string `json:"objective"`
	// Met is how many of N trials met it. It holds if all did and there was one.
	Met int `json:"met"`
	N   int `json:"n"`
	// Unknown is how many of the N trials had too few operations for the percentile.
	Unknown int  `json:"unknown,omitempty"`
	Holds   bool `json:"holds"`
	// Exploratory ones do not decide the exit code.
	Exploratory bool `json:"exploratory,omitempty"`
}

// Missed reports whether a trial did not meet the objective. An objective that is neither missed nor holds is unknown.
func (o *ConfigurationObjective) Missed() bool { return o.N > o.Met+o.Unknown }
