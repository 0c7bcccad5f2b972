package spec

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Study is what a study is asked to do: a base run, factors whose levels change it, and how to tell whether
// a change matters. A record keeps it without credentials.
type Study struct {
	// Name is what the study is called in tables and on pages.
	Name string `json:"name,omitempty" yaml:"name,omitempty"`
	// Run is the base: the specification of a run that every trial begins with.
	Run Run `json:"run" yaml:"run"`
	// Lab is what the study brings up and loads, instead of a target that is there; keys of it are varied as lab.KEY.
	Lab *Lab `json:"lab,omitempty" yaml:"lab,omitempty"`
	// Platform is a platform file with the vCenter that applies the storage policies of the factors (run.storage_policy).
	Platform string `json:"platform,omitempty" yaml:"platform,omitempty"`
	// Procedures find parts of the base before anything is compared; what they choose is then fixed.
	Procedures *Procedures `json:"procedures,omitempty" yaml:"procedures,omitempty"`
	// Factors are what is varied.
	Factors []Factor `json:"factors,omitempty" yaml:"factors,omitempty"`
	// Combine says how the levels of several factors come together: "one-at-a-time" (each against the baseline),
	// "grid" (all combinations) or "fraction" (a balanced part of the grid).
	Combine string `json:"combine,omitempty" yaml:"combine,omitempty" jsonschema:"enum=one-at-a-time,enum=grid,enum=fraction"`
	// Fraction is how many configurations of the grid are run with combine: fraction.
	Fraction Count `json:"fraction,omitempty" yaml:"fraction,omitempty"`
	// Trials is how often each configuration is run.
	Trials Count `json:"trials,omitempty" yaml:"trials,omitempty"`
	// UntilDecided ends the study when every configuration has a verdict. It is judged after 4, 8, 16 … blocks and after
	// the last one; Trials is the largest number, and Budget ends the study instead of refusing its plan.
	UntilDecided bool `json:"until_decided,omitempty" yaml:"until_decided,omitempty"`
	// Seed decides the order of the trials.
	Seed uint64 `json:"seed,omitempty" yaml:"seed,omitempty"`
	// Order is "blocks" (every configuration once per block, in random order) or "batched" (trials that share the
	// levels of the factors in Batch follow each other, which is cheaper and less certain).
	Order string `json:"order,omitempty" yaml:"order,omitempty" jsonschema:"enum=blocks,enum=batched"`
	// Batch names the factors whose change is expensive, for order: batched.
	Batch []string `json:"batch,omitempty" yaml:"batch,omitempty"`
	// Canary is after how many trials the baseline is run once more to show drift; 0 chooses, -1 is never.
	Canary Count `json:"canary,omitempty" yaml:"canary,omitempty"`
	// Reload drops and loads the data before every trial. Otherwise trials share them where they can.
	Reload bool `json:"reload,omitempty" yaml:"reload,omitempty"`
	// Settle is a pause before each trial.
	Settle Duration `json:"settle,omitempty" yaml:"settle,omitempty"`
	// Deadline is how long a trial may take before it is ended and marked as failed; 0 derives it from the run.
	Deadline Duration `json:"deadline,omitempty" yaml:"deadline,omitempty"`
	// Budget is how long the whole study may take; a plan that is longer is refused.
	Budget Duration `json:"budget,omitempty" yaml:"budget,omitempty"`
	// Margin is the smallest change that matters, as a share: 0.03 or "3%". Smaller ones count as equivalent.
	Margin Share `json:"margin,omitempty" yaml:"margin,omitempty"`
	// Confidence is the level of all intervals, 0.95 if absent.
	Confidence Share `json:"confidence,omitempty" yaml:"confidence,omitempty"`
	// Metrics are what is compared: "throughput", "errors", "mean", "p50" … "p99.99", each also of one operation
	// class ("read.p99") or of the service time ("read.service.p99"). Absent: throughput, and per class mean and p99.
	Metrics []string `json:"metrics,omitempty" yaml:"metrics,omitempty"`
	// Objectives must hold for every configuration that is not marked as exploratory.
	Objectives []string `json:"objectives,omitempty" yaml:"objectives,omitempty"`
	// Published names the figures of a document to show beside the results, each as a ratio to the document's own
	// baseline: "policy-storage/figure-2", several with commas, or "policy-storage" for all.
	Published string `json:"published,omitempty" yaml:"published,omitempty"`
	// Scale takes a study that is written for a document's hardware to this machine: data (records, operations, memory,
	// caches, volumes), workers, cores and rates are multiplied, written like 1/128; times, classes of devices and names
	// of levels stay.
	Scale *Scale `json:"scale,omitempty" yaml:"scale,omitempty"`
	// Floors is written by plimsoll: what is larger here than Scale asks for, because less would tell nothing.
	Floors []Left `json:"floors,omitempty" yaml:"floors,omitempty"`
	// Without says what is done where the engine lacks a capability: sharding, arbiters, priorities, write-concern.
	Without map[string]Instead `json:"without,omitempty" yaml:"without,omitempty"`
	// Instead is written by plimsoll: what was done in the place of what the engine lacks.
	Instead []Left `json:"instead,omitempty" yaml:"instead,omitempty"`
	// Out is the directory of the study.
	Out string `json:"out,omitempty" yaml:"out,omitempty"`
	// Labels are kept with the result, to find it again.
	Labels map[string]string `json:"labels,omitempty" yaml:"labels,omitempty"`
}

// Factor is one thing that is varied.
type Factor struct {
	// Name is what tables call it; absent, it is the last part of Path.
	Name string `json:"name,omitempty" yaml:"name,omitempty"`
	// Path is the key of the run specification that the levels set, for example load.workers.
	Path string `json:"path,omitempty" yaml:"path,omitempty"`
	// Levels are the values, the first one being the baseline unless another is marked or the base run has one of them.
	Levels []Level `json:"levels" yaml:"levels"`
	// Exploratory factors do not decide whether the objectives hold.
	Exploratory bool `json:"exploratory,omitempty" yaml:"exploratory,omitempty"`
}

// Level is one value of a factor. In YAML it may be the plain value, or a mapping.
type Level struct {
	// Name is what tables call it; absent, it is the value.
	Name string `json:"name,omitempty" yaml:"name,omitempty"`
	// Value is what Path of the factor is set to.
	Value any `json:"value,omitempty" yaml:"value,omitempty"`
	// Set sets several keys by their paths at once: paired levels, such as nodes with matching records and threads.
	Set map[string]any `json:"set,omitempty" yaml:"set,omitempty"`
	// Without has values for engines that lack a capability, which count more: {arbiters: {lab.topology.arbiter: false}}.
	Without map[string]map[string]any `json:"without,omitempty" yaml:"without,omitempty"`
	// Baseline marks what the other levels are compared with.
	Baseline bool `json:"baseline,omitempty" yaml:"baseline,omitempty"`
}

// Procedures says what is to be found before anything is compared, in this order.
type Procedures struct {
	// Threads finds the number of workers.
	Threads *Threads `json:"threads,omitempty" yaml:"threads,omitempty"`
	// Steady finds the length of a run.
	Steady *Steady `json:"steady,omitempty" yaml:"steady,omitempty"`
	// Baseline is Threads, then Steady with the workers that were found: together they find the baseline. It stands in
	// specifications that people write; [Study.Defaults] puts the two in its place.
	Baseline *Baseline `json:"baseline,omitempty" yaml:"baseline,omitempty"`
	// Capacity finds the highest rate that holds the objectives, after the rest.
	Capacity *CapacitySearch `json:"capacity,omitempty" yaml:"capacity,omitempty"`
}

// Baseline says how the two procedures that find a baseline work; either may be absent, and then has its defaults.
type Baseline struct {
	// Threads finds the number of workers.
	Threads *Threads `json:"threads,omitempty" yaml:"threads,omitempty"`
	// Steady finds the length of a run, with that number of workers.
	Steady *Steady `json:"steady,omitempty" yaml:"steady,omitempty"`
}

// Threads raises the workers until throughput stops rising or response time bends.
type Threads struct {
	// Levels are the numbers of workers tried, in order; absent: From, doubled until To.
	Levels []Count `json:"levels,omitempty" yaml:"levels,omitempty"`
	From   Count   `json:"from,omitempty" yaml:"from,omitempty"`
	To     Count   `json:"to,omitempty" yaml:"to,omitempty"`
	// Trials per level.
	Trials Count `json:"trials,omitempty" yaml:"trials,omitempty"`
	// Duration of each trial.
	Duration Duration `json:"duration,omitempty" yaml:"duration,omitempty"`
	// Gain is the least rise of throughput, as a share, for which the workers are raised further.
	Gain Share `json:"gain,omitempty" yaml:"gain,omitempty"`
	// Latency is a limit of the response time's p99; the chosen number of workers keeps it.
	Latency Duration `json:"latency,omitempty" yaml:"latency,omitempty"`
}

// Steady raises the duration or the operations until the result no longer changes.
type Steady struct {
	// By is what is raised: "duration" or "operations".
	By string `json:"by,omitempty" yaml:"by,omitempty" jsonschema:"enum=duration,enum=operations"`
	// From and To are seconds or operations, by the same factor (2 if absent) from step to step.
	From   Count   `json:"from,omitempty" yaml:"from,omitempty"`
	To     Count   `json:"to,omitempty" yaml:"to,omitempty"`
	Factor float64 `json:"factor,omitempty" yaml:"factor,omitempty"`
	// Tolerance is the change, as a share, that counts as none.
	Tolerance Share `json:"tolerance,omitempty" yaml:"tolerance,omitempty"`
	// Cycle is the time between two checkpoints of the target, 60s if absent.
	Cycle Duration `json:"cycle,omitempty" yaml:"cycle,omitempty"`
	// Trials per step.
	Trials Count `json:"trials,omitempty" yaml:"trials,omitempty"`
}

// Share is a part of one that may be written as a percentage: 0.03 or "3%".
type Share float64

// ParseShare reads a share of one: "3%" or "0.03".
func ParseShare(text string) (Share, error) {
	s := strings.TrimSpace(text)
	number, percent := strings.CutSuffix(s, "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		x /= 100
	}
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("%q is not a share: write it like 3%% or 0.03", text)
	}
	return Share(x), nil
}

// UnmarshalJSON reads a number or a text in the form of [ParseShare].
func (s *Share) UnmarshalJSON(b []byte) error { return unquoted(b, s, ParseShare) }

// UnmarshalYAML reads the form of [ParseShare].
func (s *Share) UnmarshalYAML(n *yaml.Node) error { return scalar(n, s, ParseShare) }
