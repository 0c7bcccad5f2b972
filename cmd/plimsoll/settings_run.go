package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// runSettings are the flags for the keys of a run. They are applied in this order: a flag for several keys is before
// the flags for one of them.
var runSettings = slicesOf(
	in(loadGroup,
		key("workload", "workload.name", "`name` of the workload: a to f, person, location, catalog, ycsb-a to ycsb-f, or the path of a workload file (FILE.yaml); see 'plimsoll workload list'").inBrief().from(workloadNames),
		form(key("set", "workload.params", "workload parameter or YCSB property `name=value`, for example fieldlength=200"), "", true, setParams).inBrief(),
		key("mode", "workload.mode", "generators: core (corrected) or ycsb (the same as YCSB, to compare with its figures; ycsb-a to ycsb-f set it)"),
		key("seed", "workload.seed", "seed of data and operations").atLeast1(),
		key("threads", "load.workers", "number of workers: the most operations in progress at once; 0 if stages set workers").inBrief(),
		key("rate", "load.rate", "planned operations per second (open loop); an operation that waits for a worker is sent late").inBrief(),
		key("arrivals", "load.arrivals", "intervals between operations of an open loop: poisson or constant (default poisson)"),
		key("pace", "load.pace", "operations per second of each worker, to simulate users"),
		key("late", "load.late", "late operations of an open loop: send them and count the wait (queue), or drop them (default queue)"),
		key("drop-after", "load.drop_after", "with --late drop: drop operations that are later than this `time` (default 1s)"),
		form(key("stage", "load.stages", "change rate or workers over a time, or at once with :step (`TIME:rate=N|workers=N[:step]`)"), "load.stages", true, readStages).inBrief(),
		key("replay", "load.replay", "send the operations of a recording (`file`) at their times; see 'plimsoll workload record'"),
		single(key("speed", "load.speed", "how much faster than recorded a --replay is sent, for example `2x` (default 1x)"), "load.speed", readSpeed),
		key("warmup", "load.warmup", "load before the measured time; not in the result (default none)").inBrief(),
		key("duration", "load.duration", "measured time").inBrief(),
		key("operations", "load.operations", "number of operations after which the run ends").inBrief(),
		key("timeout", "load.timeout", "deadline of each operation"),
		key("client", "client", "MongoDB client: wire (plimsoll's own, faster) or driver (the official Go driver)"),
		key("via", "via", "send the load through a REST service that runs during this run only (workload person)"),
	),
	in(dataGroup,
		key("records", "workload.records", "number of documents, for example 1M").inBrief(),
		single(key("load", "load_phase", "`mode` of the load phase: auto (insert missing documents), drop (replace existing data), skip (use existing data), only (end after the load phase), or drop,only (default auto)"), "load_phase", readLoadPhase).inBrief().from(oneOf("auto", "drop", "skip", "only", "drop,only")),
		key("batch", "load_phase.batch", "documents per insert in the load phase"),
		key("load-threads", "load_phase.parallel", "parallel inserts in the load phase"),
		key("database", "database", "`name` of the database of the collections"),
		key("allow-other-databases", "workload.allow_other_databases", "`names` of databases, besides that of the run, that pipelines of the workload may use, for example in $merge"),
	),
	in(durabilityGroup,
		single(key("durability", "durability.name", "durability `level`: throughput (w: 0), balanced (w: 1), durable (w: 1, j: true) (default: that of the address or the server; durable for embedded)"), "durability", readLevel).inBrief().from(oneOf("throughput", "balanced", "durable")),
		key("w", "durability.w", "write `concern`: 0, 1, 2, …, majority or a tag").inBrief().from(oneOf("majority", "1", "2", "3", "0")),
		key("journal", "durability.journal", "acknowledge writes only after they are journaled").inBrief(),
		key("read-concern", "durability.read_concern", "read concern `level`: local, available, majority, linearizable or snapshot").inBrief(),
		key("read-preference", "durability.read_preference", "read preference `mode`: primary, primaryPreferred, secondary, secondaryPreferred or nearest").inBrief(),
		key("causal", "durability.causal", "use causally consistent sessions: a worker reads all that it wrote and read before"),
	),
	in(resultsGroup,
		key("slo", "objectives", "`objectives`, for example 'p99<20ms,errors<0.1%'; exit code 4 if one is missed").inBrief(),
		key("out", "out", "`directory` of the record (default plimsoll-data/runs/TIME-WORKLOAD)").inBrief(),
		key("label", "labels", "label `name=value` that is stored with the result").inBrief(),
		form(key("metrics", "observe", "values of a Prometheus query or a growing CSV file (time,value) as further lines on the timeline (`prom:URL?query=EXPR|csv:FILE`)"), "observe", true, readMetrics),
		key("skip-diagnostic-data", "observe.skip_diagnostic_data", "leave the diagnostic data (diagnostic.data) of a lab's mongods out of the record"),
	),
	in(agentsGroup,
		key("clients", "load.clients", "number of load processes on this machine; they share workers, rate and operations (default 1)"),
		single(key("agents", "load.clients", "number (`count`) of load clients in agents on other machines; see --place (default none)"), "load", readAgents).inBrief(),
		key("place", "load.place", "`place` of the agents: manual (you start them), ssh:HOST,HOST or kubernetes (default manual)").inBrief().from(oneOf(spec.PlaceManual, spec.PlaceSSH, spec.PlaceKubernetes)),
		key("strict", "load.strict", "end the run if a load client is lost; otherwise the others continue"),
		key("shares", "load.shares", "division of the load among clients: equal, or by weight: the rate of the calibration of each machine (default equal)"),
		form(key("zone", "load.zones", "share `name=20%` of the load that comes from the agents of a zone, or with a label (key=value=20%, or host=NAME=20%); together 100%"), "load.zones", true, readZones),
	),
)

func slicesOf(groups ...[]setting) (table []setting) {
	for _, g := range groups {
		table = append(table, g...)
	}
	return table
}

func oneOf(words ...string) completer {
	return func(*cobra.Command, []string, string) []string { return words }
}

func workloadNames(*cobra.Command, []string, string) (names []string) {
	for _, w := range workload.Names() {
		names = append(names, w.Name)
	}
	return names
}

func setParams(r *spec.Run, texts []string) error {
	for _, text := range texts {
		name, value, err := keyValue(text)
		if err != nil {
			return err
		}
		if err := setProperty(r, name, value); err != nil {
			return err
		}
	}
	return nil
}

// readStages parses TIME:rate=N or TIME:workers=N, optionally with :step.
func readStages(to *[]spec.Stage, texts []string) error {
	*to = nil
	for _, text := range texts {
		parts := strings.Split(text, ":")
		if len(parts) < 2 || len(parts) > 3 || (len(parts) == 3 && parts[2] != "step") {
			return fmt.Errorf("%q is not of the form TIME:rate=N or TIME:workers=N, optionally with :step at the end", text)
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
		case "workers":
			stage.Workers, err = spec.ParseCount(value)
		default:
			err = fmt.Errorf("unknown key %q: a stage changes rate or workers", key)
		}
		if err != nil {
			return err
		}
		*to = append(*to, stage)
	}
	return nil
}

func readSpeed(to *float64, text string) error {
	speed, err := strconv.ParseFloat(strings.TrimSuffix(text, "x"), 64)
	if err != nil || !(speed > 0) {
		return fmt.Errorf("%q is not a speed; write it like 2x or 0.5x", text)
	}
	*to = speed
	return nil
}

// readLoadPhase parses one mode, or drop,only.
func readLoadPhase(p *spec.LoadPhase, text string) error {
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
			return fmt.Errorf("unknown mode %q%s (known: %s)", mode, nearest.DidYouMean(mode, modes), strings.Join(modes, ", "))
		}
	}
	return nil
}

// readLevel removes the details that would override the level.
func readLevel(d *spec.Durability, name string) error {
	d.Name, d.W, d.Journal = name, "", nil
	return nil
}

func readMetrics(o *spec.Observe, texts []string) error {
	for _, text := range texts {
		if err := o.AddMetrics(text); err != nil {
			return err
		}
	}
	return nil
}

// readAgents sets the number of clients, which are not on this machine.
func readAgents(l *spec.Load, text string) error {
	n, err := spec.ParseCount(text)
	switch {
	case err != nil:
		return err
	case n < 1:
		return errors.New("at least one agent is needed")
	}
	if l.Clients = n; l.Place == "" {
		l.Place = spec.PlaceManual
	}
	return nil
}

// readZones parses NAME=20% or KEY=VALUE=20%.
func readZones(to *map[string]spec.Share, texts []string) error {
	*to = map[string]spec.Share{}
	for _, text := range texts {
		i := strings.LastIndexByte(text, '=')
		if i < 0 {
			return fmt.Errorf("%q is not of the form NAME=20%% or KEY=VALUE=20%%", text)
		}
		share, err := spec.ParseShare(text[i+1:])
		if err != nil {
			return err
		}
		(*to)[text[:i]] = share
	}
	return nil
}

// specFlags are the flags that describe a run, its file, and its YCSB property files.
type specFlags struct {
	file       string
	properties []string
	settings   settings
}

// complete applies what is given besides the file: the target, properties and flags.
func (s *specFlags) complete(ctx context.Context, env *environment, target string, asked any, r *spec.Run) error {
	if err := readTarget(ctx, env, &r.Target, target); err != nil {
		return err
	}
	if err := readProperties(env, s.properties, r); err != nil {
		return err
	}
	return s.settings.apply(asked)
}

// platformOf is the platform that a file names, relative to the file.
func platformOf(file, platform string) string {
	if platform == "" || file == "" || file == "-" || filepath.IsAbs(platform) || spec.InKubernetes(platform) {
		return platform
	}
	return filepath.Join(filepath.Dir(file), platform)
}

// addFileFlags adds the flags of the files of a run or drill, which other flags override.
func (s *specFlags) addFileFlags(cmd *cobra.Command, of string) {
	grouped(cmd, loadGroup, func() {
		help := "YAML `file` with the specification of the " + of + " (- for standard input); flags override it"
		if of == "run" {
			help = "YAML `file` with the specification of the run (- for standard input), or the record of a run to repeat; flags override it"
		}
		cmd.Flags().StringVarP(&s.file, "file", "f", "", help)
	}, "file")
	grouped(cmd, dataGroup, func() {
		cmd.Flags().StringArrayVarP(&s.properties, "property-file", "P", nil, "YCSB property `file` (repeatable; workloada to workloadf are built in); other flags override it")
	})
}

// given says whether anything of a specification is given.
func (s *specFlags) given() bool {
	return s.file != "" || len(s.properties)+len(s.settings.given()) > 0
}

// spec merges the file, the flags, the defaults and the positional target.
func (s *specFlags) spec(cmd *cobra.Command, env *environment, target string) (asked spec.Run, err error) {
	if info, err := os.Stat(s.file); err == nil && info.IsDir() {
		asked, _, err = recordedRun(s.file, target)
		if err != nil {
			return asked, err
		}
	} else if s.file != "" {
		if asked, err = readSpec(env, s.file, "specification", "", spec.ReadRun); err != nil {
			return asked, err
		}
	}
	if err := s.complete(cmd.Context(), env, target, &asked, &asked); err != nil {
		return asked, err
	}
	if asked.StoragePolicy != "" {
		return asked, usageError("storage_policy: only a study applies storage policies. Remove it, or write a study with the key platform")
	}
	return asked, withExit(exitUsage, s.settings.named(asked.Complete()))
}
