package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// specFlags are the flags that describe a run. They override the file.
type specFlags struct {
	file       string
	properties []string                // YCSB property files
	apply      []func(*spec.Run) error // for each given flag
	load       string
}

// specFlag keeps its text and applies it later, after the file was read.
type specFlag struct {
	set   func(*spec.Run, string) error
	flags *specFlags
	kind  string
	text  string
	many  bool
	given bool
}

func (f *specFlag) String() string { return f.text }
func (f *specFlag) Type() string   { return f.kind }

// Set validates the value on an empty specification and keeps it.
func (f *specFlag) Set(text string) error {
	if f.given && !f.many {
		return fmt.Errorf("it is given twice; give it once")
	}
	f.given, f.text = true, text
	var scratch spec.Run
	if err := f.set(&scratch, text); err != nil {
		return err
	}
	f.flags.apply = append(f.flags.apply, func(s *spec.Run) error { return f.set(s, text) })
	return nil
}

func addSpecFlags(fs *pflag.FlagSet) *specFlags {
	s := &specFlags{}
	fs.StringVarP(&s.file, "file", "f", "", "YAML `file` with the specification of the run (- for standard input); flags override it")
	define := func(name, short, kind, help string, set func(*spec.Run, string) error, many bool) {
		fs.VarP(&specFlag{set: set, flags: s, kind: kind, many: many}, name, short, help)
	}
	one := func(name, kind, help string, set func(*spec.Run, string) error) {
		define(name, "", kind, help, set, false)
	}
	many := func(name, kind, help string, set func(*spec.Run, string) error) {
		define(name, "", kind, help, set, true)
	}

	one("workload", "name", "workload: a to f, person, location, catalog, ycsb-a to ycsb-f, or the path of a workload file (FILE.yaml) (default a); see 'plimsoll workloads'", text(func(r *spec.Run) *string { return &r.Workload.Name }))
	one("mode", "core|ycsb", "generators: core (corrected) or ycsb (the same as YCSB, to compare with its figures; ycsb-a to ycsb-f set it) (default core)", text(func(r *spec.Run) *string { return &r.Workload.Mode }))
	one("records", "count", "number of documents, for example 1M (default 100k)", parsed("workload.records", spec.ParseCount, func(r *spec.Run) *spec.Count { return &r.Workload.Records }))
	one("seed", "number", "seed of data and operations (default 1)", setSeed)
	fs.StringArrayVarP(&s.properties, "property-file", "P", nil, "YCSB property `file` (repeatable; workloada to workloadf are built in); other flags override it")
	define("set", "p", "name=value", "workload parameter or YCSB property, for example fieldlength=200 (repeatable)", setParam, true)

	one("threads", "count", "number of workers: the most operations in progress at once (default 16; 0 if stages set workers)", parsed("load.workers", spec.ParseCount, func(r *spec.Run) *spec.Count { return &r.Load.Workers }))
	one("clients", "count", "number of load processes on this machine; they share workers, rate and operations (default 1)", parsed("load.clients", spec.ParseCount, func(r *spec.Run) *spec.Count { return &r.Load.Clients }))
	one("agents", "count", "number of load clients in agents on other machines; see --place (default none)", setAgents)
	one("place", "place", "place of the agents: manual (you start them), ssh:HOST,HOST or kubernetes (default manual)", text(func(r *spec.Run) *string { return &r.Load.Place }))
	one("strict", "true|false", "end the run if a load client is lost; otherwise the others continue", setStrict)
	fs.Lookup("strict").NoOptDefVal = "true"
	one("shares", "equal|weight", "division of the load among clients: equal, or by what the calibration of each machine says that it can send (default equal)", text(func(r *spec.Run) *string { return &r.Load.Shares }))
	many("zone", "name=20%", "share of the load that comes from the agents of a zone, or with a label (key=value=20%, or host=NAME=20%); together 100% (repeatable)", addZone)
	one("rate", "ops/s", "planned operations per second (open loop); an operation that waits for a worker is sent late", parsed("load.rate", spec.ParseRate, func(r *spec.Run) *spec.Rate { return &r.Load.Rate }))
	one("replay", "file", "send the operations of a recording at their times; see 'plimsoll workload record'", text(func(r *spec.Run) *string { return &r.Load.Replay }))
	one("speed", "2x", "how much faster than recorded a --replay is sent (default 1x)", setSpeed)
	one("arrivals", "poisson|constant", "intervals between operations of an open loop (default poisson)", text(func(r *spec.Run) *string { return &r.Load.Arrivals }))
	one("pace", "ops/s", "operations per second of each worker, to simulate users", parsed("load.pace", spec.ParseRate, func(r *spec.Run) *spec.Rate { return &r.Load.Pace }))
	one("late", "queue|drop[:TIME]", "late operations of an open loop: send them and count the wait (queue), or drop those later than TIME (default queue)", setLate)
	many("stage", "TIME:rate=N|workers=N[:step]", "change rate or workers to N over TIME, or at once with :step (repeatable)", addStage)
	one("warmup", "time", "load before the measured time; not in the result (default none)", parsed("load.warmup", spec.ParseDuration, func(r *spec.Run) *spec.Duration { return &r.Load.Warmup }))
	one("duration", "time", "measured time (default 1m)", parsed("load.duration", spec.ParseDuration, func(r *spec.Run) *spec.Duration { return &r.Load.Duration }))
	one("operations", "count", "number of operations after which the run ends", parsed("load.operations", spec.ParseCount, func(r *spec.Run) *spec.Count { return &r.Load.Operations }))
	one("timeout", "time", "deadline of each operation (default 10s)", parsed("load.timeout", spec.ParseDuration, func(r *spec.Run) *spec.Duration { return &r.Load.Timeout }))

	fs.StringVar(&s.load, "load", "auto", "`mode` of the load phase: auto (insert missing documents), drop (replace existing data), skip (use existing data), only (end after the load phase), or drop,only")
	one("batch", "count", "documents per insert in the load phase (default 1000)", parsed("load_phase.batch", spec.ParseCount, func(r *spec.Run) *spec.Count { return &r.LoadPhase.Batch }))
	one("load-threads", "count", "parallel inserts in the load phase (default 16)", parsed("load_phase.parallel", spec.ParseCount, func(r *spec.Run) *spec.Count { return &r.LoadPhase.Parallel }))

	one("durability", "level", "durability level: throughput (w: 0), balanced (w: 1), durable (w: 1, j: true) (default: that of the address or the server; durable for embedded)", text(func(r *spec.Run) *string { return &r.Durability.Name }))
	one("w", "w", "write concern: 0, 1, 2, …, majority or a tag", text(func(r *spec.Run) *string { return &r.Durability.W }))
	one("journal", "true|false", "acknowledge writes only after they are journaled", setJournal)
	fs.Lookup("journal").NoOptDefVal = "true"
	one("read-concern", "level", "read concern: local, available, majority, linearizable or snapshot", text(func(r *spec.Run) *string { return &r.Durability.ReadConcern }))
	one("read-preference", "mode", "read preference: primary, primaryPreferred, secondary, secondaryPreferred or nearest", text(func(r *spec.Run) *string { return &r.Durability.ReadPreference }))
	one("causal", "true|false", "use causally consistent sessions: a worker reads all that it wrote and read before", setCausal)
	fs.Lookup("causal").NoOptDefVal = "true"
	one("client", "wire|driver", "MongoDB client: wire (plimsoll's own, faster) or driver (the official Go driver) (default wire)", text(func(r *spec.Run) *string { return &r.Client }))
	one("via", "rest", "send the load through a REST service that runs during this run only (workload person)", text(func(r *spec.Run) *string { return &r.Via }))
	one("database", "name", "database of the collections (default plimsoll)", text(func(r *spec.Run) *string { return &r.Database }))

	many("allow-other-databases", "name,name", "databases, besides that of the run, that pipelines of the workload may name, for example in $merge (repeatable)", addDatabases)

	many("slo", "objectives", "objectives, for example 'p99<20ms,errors<0.1%'; exit code 4 if one is missed (repeatable)", addObjectives)
	one("out", "dir", "directory of the record (default plimsoll-data/runs/TIME-WORKLOAD)", text(func(r *spec.Run) *string { return &r.Out }))
	many("metrics", "prom:URL?query=EXPR|csv:FILE", "values of a Prometheus query or a growing CSV file (time,value) as further lines on the timeline (repeatable)", addMetrics)
	one("skip-diagnostic-data", "true|false", "leave the diagnostic data (diagnostic.data) of a lab's mongods out of the record", setSkipDiagnostics)
	fs.Lookup("skip-diagnostic-data").NoOptDefVal = "true"
	many("label", "name=value", "label that is stored with the result (repeatable)", addLabel)
	return s
}

// setAgents sets the number of clients, which are not on this machine.
func setAgents(r *spec.Run, v string) error {
	n, err := spec.ParseCount(v)
	if err != nil || n < 1 {
		return cmp.Or(err, errors.New("at least one agent is needed"))
	}
	r.Load.Clients, r.Load.Place = n, cmp.Or(r.Load.Place, spec.PlaceManual)
	return nil
}

func text(at func(*spec.Run) *string) func(*spec.Run, string) error {
	return func(r *spec.Run, v string) error {
		*at(r) = v
		return nil
	}
}

// parsed sets a field that has a parser; key names it in errors.
func parsed[T comparable](key string, parse func(string) (T, error),
	at func(*spec.Run) *T) func(*spec.Run, string) error {
	return func(r *spec.Run, v string) (err error) {
		if *at(r), err = parse(v); err != nil {
			return err
		}
		return spec.NotZero(key, v, *at(r))
	}
}

func setSpeed(r *spec.Run, v string) error {
	speed, err := strconv.ParseFloat(strings.TrimSuffix(v, "x"), 64)
	if err != nil || !(speed > 0) {
		return fmt.Errorf("%q is not a speed; write it like 2x or 0.5x", v)
	}
	r.Load.Speed = speed
	return nil
}

func setSeed(r *spec.Run, v string) error {
	if _, err := fmt.Sscanf(v+"\n", "%d\n", &r.Workload.Seed); err != nil {
		return fmt.Errorf("%q is not a whole number from 1", v)
	}
	if r.Workload.Seed == 0 {
		return fmt.Errorf("0 is not a seed; the first one is 1")
	}
	return nil
}

func setJournal(r *spec.Run, v string) error {
	switch v {
	case "true":
		r.Durability.Journal = new(bool)
		*r.Durability.Journal = true
	case "false":
		r.Durability.Journal = new(bool)
	default:
		return fmt.Errorf("%q is neither true nor false", v)
	}
	return nil
}

func setCausal(r *spec.Run, v string) (err error) {
	if r.Durability.Causal, err = strconv.ParseBool(v); err != nil {
		return fmt.Errorf("%q is neither true nor false", v)
	}
	return nil
}

func setStrict(r *spec.Run, v string) (err error) {
	if r.Load.Strict, err = strconv.ParseBool(v); err != nil {
		return fmt.Errorf("%q is neither true nor false", v)
	}
	return nil
}

func setLate(r *spec.Run, v string) (err error) {
	policy, after, given := strings.Cut(v, ":")
	r.Load.Late = policy
	if policy != "drop" {
		r.Load.DropAfter = 0
	}
	if given {
		r.Load.DropAfter, err = spec.ParseDuration(after)
	}
	return err
}

func keyValue(v string) (string, string, error) {
	key, value, ok := strings.Cut(v, "=")
	if !ok || key == "" {
		return "", "", fmt.Errorf("%q is not of the form name=value", v)
	}
	return key, value, nil
}

func setParam(r *spec.Run, v string) error {
	key, value, err := keyValue(v)
	if err != nil {
		return err
	}
	return setProperty(r, key, value)
}

func addDatabases(r *spec.Run, v string) error {
	for name := range strings.SplitSeq(v, ",") {
		if name == "" {
			return errors.New("the name of a database is empty")
		}
		r.Workload.AllowOtherDatabases = append(r.Workload.AllowOtherDatabases, name)
	}
	return nil
}

func addLabel(r *spec.Run, v string) error {
	key, value, err := keyValue(v)
	if r.Labels == nil {
		r.Labels = map[string]string{}
	}
	r.Labels[key] = value
	return err
}

func addMetrics(r *spec.Run, v string) error {
	if r.Observe == nil {
		r.Observe = &spec.Observe{}
	}
	return r.Observe.AddMetrics(v)
}

func setSkipDiagnostics(r *spec.Run, v string) error {
	skip, err := strconv.ParseBool(v)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", v)
	}
	if r.Observe == nil {
		r.Observe = &spec.Observe{}
	}
	r.Observe.SkipDiagnosticData = skip
	return nil
}

func addObjectives(r *spec.Run, v string) error {
	r.Objectives = append(r.Objectives, strings.Split(v, ",")...)
	return nil
}

// addZone parses NAME=20% or KEY=VALUE=20%.
func addZone(r *spec.Run, v string) (err error) {
	i := strings.LastIndexByte(v, '=')
	if i < 0 {
		return fmt.Errorf("%q is not of the form NAME=20%% or KEY=VALUE=20%%", v)
	}
	if r.Load.Zones == nil {
		r.Load.Zones = map[string]spec.Share{}
	}
	r.Load.Zones[v[:i]], err = spec.ParseShare(v[i+1:])
	return err
}

// addStage parses TIME:rate=N or TIME:workers=N, optionally with :step.
func addStage(r *spec.Run, v string) error {
	parts := strings.Split(v, ":")
	if len(parts) < 2 || len(parts) > 3 || (len(parts) == 3 && parts[2] != "step") {
		return fmt.Errorf("%q is not of the form TIME:rate=N or TIME:workers=N, optionally with :step at the end", v)
	}
	stage := spec.Stage{Step: len(parts) == 3}
	var err error
	if stage.Duration, err = spec.ParseDuration(parts[0]); err != nil {
		return err
	}
	key, value, err := keyValue(parts[1])
	if err != nil {
		return err
	}
	switch key {
	case "rate":
		stage.Rate, err = spec.ParseRate(value)
	case "workers", "threads":
		stage.Workers, err = spec.ParseCount(value)
	default:
		err = fmt.Errorf("unknown key %q: a stage changes rate or workers", key)
	}
	r.Load.Stages = append(r.Load.Stages, stage)
	return err
}

// given says whether anything of a specification is given.
func (s *specFlags) given(cmd *cobra.Command) bool {
	return s.file != "" || len(s.properties)+len(s.apply) > 0 || cmd.Flags().Changed("load")
}

// spec merges the file, the flags, the defaults and the positional target.
func (s *specFlags) spec(cmd *cobra.Command, env *environment, target string) (asked spec.Run, err error) {
	if s.file != "" {
		if asked, err = readSpec(env, s.file, "specification", "", spec.ReadRun); err != nil {
			return asked, err
		}
	}
	if err := readTarget(cmd.Context(), env, &asked.Target, target); err != nil {
		return asked, err
	}
	if err := readProperties(env, s.properties, &asked); err != nil {
		return asked, err
	}
	clearReplaced(&asked, cmd.Flags().Changed)
	for _, apply := range s.apply {
		if err := apply(&asked); err != nil {
			return asked, withExit(exitUsage, err)
		}
	}
	if cmd.Flags().Changed("load") {
		if err := setLoadPhase(&asked.LoadPhase, s.load); err != nil {
			return asked, err
		}
	}
	if asked.StoragePolicy != "" {
		return asked, usageError("storage_policy: only a study applies storage policies. Remove it, or write a study with the key platform")
	}
	return asked, withExit(exitUsage, asked.Complete())
}

// clearReplaced clears what flags replace beyond their own key: lists, and details that would override a durability
// level.
func clearReplaced(asked *spec.Run, given func(flag string) bool) {
	if given("stage") {
		asked.Load.Stages = nil
	}
	if given("zone") {
		asked.Load.Zones = nil
	}
	if given("slo") {
		asked.Objectives = nil
	}
	if given("durability") {
		asked.Durability.W, asked.Durability.Journal = "", nil
	}
}

// setLoadPhase parses one mode, or drop,only.
func setLoadPhase(p *spec.LoadPhase, text string) error {
	p.Skip, p.Drop, p.Only = false, false, false
	for mode := range strings.SplitSeq(text, ",") {
		switch mode {
		case "auto":
		case "drop":
			p.Drop = true
		case "skip":
			p.Skip = true
		case "only":
			p.Only = true
		default:
			modes := []string{"auto", "drop", "skip", "only"}
			return usageError("--load: unknown mode %q%s (known: %s)", mode, nearest.DidYouMean(mode, modes), strings.Join(modes, ", "))
		}
	}
	return nil
}
