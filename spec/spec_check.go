package spec

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/nearest"
	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/measure"
)

// maxRecords is more than any data set has: a million inserts per second take eleven days for it.
const maxRecords = 1e12

// ViaREST, in [Run.Via], puts a REST service between the load and the target.
const ViaREST = "rest"

// SharesByWeight, in [Load.Shares], divides the load by what the machines of the clients can send.
const SharesByWeight = "weight"

// DefaultDatabase is the database of runs that name none. No application uses it.
const DefaultDatabase = "plimsoll"

// Complete fills in the defaults and checks the result, once, where the file and the flags are read or where a
// specification is made. Everything behind that takes a complete specification. Its error has one line per mistake,
// each of them naming the key.
func (s *Run) Complete() error {
	return complete(s, &s.Workload)
}

// complete completes a specification that has a workload.
func complete(s interface {
	Defaults()
	Validate() error
}, w *Workload) error {
	s.Defaults()
	if err := w.read(); err != nil {
		return err
	}
	return s.Validate()
}

// Defaults fills in missing values. This is the only place with defaults of a run; each has its reason.
func (s *Run) Defaults() {
	def(&s.Target, "embedded:plimsoll-data/embedded") // a real engine with a log, on the disk of the working directory
	def(&s.Database, DefaultDatabase)
	if s.Via == ViaREST {
		def(&s.Client, "driver") // the client of the service
	}
	def(&s.Client, "wire") // a load generator must not be the bottleneck
	if s.Load.Replay != "" {
		def(&s.Workload.Name, replayWorkload)
	} else {
		def(&s.Workload.Name, "a") // half reads, half updates: the best known one
		if !s.Workload.IsFile() {
			def(&s.Workload.Records, 100e3) // 100 MB with YCSB's documents: loads in seconds everywhere
		}
	}
	if s.Workload.Mode == "" {
		s.Workload.Mode = "core" // corrected generators; YCSB's own on request
		if strings.HasPrefix(s.Workload.Name, "ycsb") {
			s.Workload.Mode = "ycsb"
		}
	}
	def(&s.Workload.Seed, 1) // the same operations in every run
	s.Load.defaults()
	def(&s.LoadPhase.Batch, 1000) // large enough that the round trip does not matter
	if s.Load.Workers > 0 {
		def(&s.LoadPhase.Parallel, min(16, s.Load.Workers)) // keeps one server busy
	}
	def(&s.LoadPhase.Parallel, 16) // for stages that bring the workers
	if s.Durability.Writes() == (Durability{}) && !strings.HasPrefix(s.Target, "mongodb") && !strings.HasPrefix(s.Target, "lab:") &&
		!strings.HasPrefix(s.Target, "http") && !InKubernetes(s.Target) {
		// Acknowledged writes are in the log, as users expect. A MongoDB, a lab or a service has defaults of its own, which
		// applications get.
		s.Durability.Name = "durable"
	}
}

func (l *Load) defaults() {
	if len(l.Stages) == 0 || l.Open() { // stages that change workers begin with none
		def(&l.Workers, 16) // keeps a small server busy and is far below any connection limit
	}
	if l.Open() {
		if l.Replay == "" {
			def(&l.Arrivals, "poisson") // many independent users; constant arrivals flatter the tail
		}
		def(&l.Late, "queue") // late operations are sent late, and their wait counts
		if l.Late == "drop" {
			def(&l.DropAfter, Duration(time.Second))
		}
	}
	if l.Duration == 0 && l.Operations == 0 && len(l.Stages) == 0 && l.Replay == "" {
		l.Duration = Duration(time.Minute) // one checkpoint of WiredTiger; a claim needs several
	}
	def(&l.Timeout, Duration(10*time.Second)) // survives a failover of 2 to 12 s, and lets every run end
}

// Random reports whether the due times of operations depend on the seed.
func (l *Load) Random() bool { return l.Open() && l.Arrivals != "constant" || l.Pace > 0 }

// Open reports whether this is an open loop: operations are due independently of replies.
func (l *Load) Open() bool {
	return l.Rate > 0 || l.Replay != "" || slices.ContainsFunc(l.Stages, func(s Stage) bool { return s.Rate > 0 })
}

func def[T comparable](v *T, otherwise T) {
	var zero T
	if *v == zero {
		*v = otherwise
	}
}

// Validate checks a run as far as that is possible without the target and the workloads; see [Run.Complete].
func (s *Run) Validate() error {
	errs := []error{
		oneOf("client", s.Client, "wire", "driver"),
		oneOf("via", s.Via, ViaREST),
		oneOf("workload.mode", s.Workload.Mode, "core", "ycsb"),
		oneOf("load.arrivals", s.Load.Arrivals, "poisson", "constant"),
		oneOf("load.late", s.Load.Late, "queue", "drop"),
		oneOf("load.shares", s.Load.Shares, "equal", SharesByWeight),
		durabilityName(s.Durability.Name),
		oneOf("durability.read_concern", s.Durability.ReadConcern, "local", "available", "majority", "linearizable", "snapshot"),
		oneOf("durability.read_preference", s.Durability.ReadPreference,
			"primary", "primaryPreferred", "secondary", "secondaryPreferred", "nearest"),
		s.Durability.causal(),
		databaseName(s.Database), directory("out", s.Out),
		between("workload.records", float64(s.Workload.Records), 0, maxRecords),
		between("load_phase.batch", float64(s.LoadPhase.Batch), 0, 100_000),
		between("load_phase.parallel", float64(s.LoadPhase.Parallel), 0, 65_536),
		s.Load.validate(),
		s.Durability.validate(),
		s.Observe.validate(),
	}
	if s.LoadPhase.Skip && s.LoadPhase.Drop {
		errs = append(errs, errors.New("load_phase.skip and load_phase.drop exclude each other. Data are either dropped or taken as they are"))
	}
	if _, err := measure.ParseObjectives(strings.Join(s.Objectives, ",")); err != nil {
		errs = append(errs, fmt.Errorf("objectives: %w", err))
	}
	return errors.Join(errs...)
}

// Places of load clients; see [Load.Place].
const (
	PlaceManual     = "manual"
	PlaceKubernetes = "kubernetes"
	PlaceSSH        = "ssh:" // and the hosts
)

func place(name string) error {
	hosts, ssh := strings.CutPrefix(name, PlaceSSH)
	switch {
	case name == "", name == PlaceManual, name == PlaceKubernetes:
		return nil
	case ssh && hosts != "" && !strings.HasPrefix(hosts, "-") && !strings.Contains(hosts, ",-"):
		return nil
	case ssh:
		return fmt.Errorf("load.place: %q names no hosts: write ssh:HOST,HOST with the names that your ssh knows", name)
	}
	return fmt.Errorf("load.place: unknown place %q%s (known: manual, ssh:HOST,HOST, kubernetes; absent for processes on this machine)",
		name, nearest.DidYouMean(name, []string{PlaceManual, PlaceKubernetes, PlaceSSH}))
}

// mostClients is the largest number of clients: one machine is at its end with some hundred processes.
func (l *Load) mostClients() float64 {
	if l.Place == "" {
		return 256
	}
	return 10_000
}

func (l *Load) validate() error {
	errs := []error{
		between("load.workers", float64(l.Workers), 0, 1<<20),
		between("load.clients", float64(l.Clients), 0, l.mostClients()),
		place(l.Place),
		between("load.rate", float64(l.Rate), 0, 1e8),
		between("load.pace", float64(l.Pace), 0, 1e8),
		between("load.operations", float64(l.Operations), 0, 1<<53),
		notNegative("load.warmup", l.Warmup),
		notNegative("load.duration", l.Duration),
		notNegative("load.timeout", l.Timeout),
		notNegative("load.drop_after", l.DropAfter),
		l.validateZones(),
		l.validateReplay(),
	}
	if l.Open() && l.Pace > 0 {
		errs = append(errs, errors.New("load.rate and load.pace exclude each other. A rate is for all workers together, a pace for each worker"))
	}
	if !l.Open() && (l.Late != "" || l.Arrivals != "" || l.DropAfter != 0) {
		errs = append(errs, errors.New("load.arrivals, load.late and load.drop_after need a rate, because operations of a closed loop have no due time"))
	} else if l.DropAfter != 0 && l.Late != "drop" {
		errs = append(errs, errors.New("load.drop_after needs late: drop. With late: queue every operation is sent"))
	}
	for i, s := range l.Stages {
		if err := s.validate(l.Open()); err != nil {
			errs = append(errs, fmt.Errorf("load.stages: stage %d: %w", i+1, err))
		}
	}
	return errors.Join(errs...)
}

// replayWorkload is the name of the workload of a [Load.Replay] in results.
const replayWorkload = "replay"

func (l *Load) validateReplay() error {
	switch {
	case l.Replay == "" && l.Speed != 0:
		return errors.New("load.speed needs load.replay, the recording that it makes faster or slower")
	case l.Replay == "":
		return nil
	case l.Speed != 0 && l.Rate != 0:
		return errors.New("load.speed and load.rate exclude each other. Both say how fast a recording is sent")
	case l.Arrivals != "" || l.Pace != 0 || len(l.Stages) > 0 || l.Operations != 0:
		return errors.New("load.replay has its own times. Remove load.arrivals, load.pace, load.stages and load.operations")
	case l.Clients > 1 || l.Place != "":
		return errors.New("load.replay runs in one process. Remove load.clients and load.place")
	}
	return between("load.speed", l.Speed, 0, 1e6)
}

func (l *Load) validateZones() error {
	const smallest = 0.001
	sum := 0.0
	for _, name := range slices.Sorted(maps.Keys(l.Zones)) {
		share := float64(l.Zones[name])
		if key, value, label := strings.Cut(name, "="); key == "" || label && value == "" {
			return fmt.Errorf("load.zones: %q is not the name of a zone. Use NAME, or KEY=VALUE for the agents with a label", name)
		}
		if err := between("load.zones: "+name, share, smallest, 1); err != nil {
			return err
		}
		sum += share
	}
	switch {
	case len(l.Zones) == 0:
		return nil
	case l.Clients <= 1 && l.Place == "":
		return errors.New("load.zones needs a client in each zone. Set load.clients, or remove load.zones")
	case math.Abs(sum-1) > 1e-9:
		return fmt.Errorf("load.zones: the shares add up to %.4g %%, not to 100 %%", sum*100)
	}
	return nil
}

func (s Stage) validate(open bool) error {
	switch {
	case s.Duration < 0:
		return errors.New("the duration is negative")
	case s.Duration == 0 && !s.Step:
		return errors.New("a ramp needs a duration. Set step: true for an immediate change")
	case open && s.Workers != 0:
		return errors.New("it changes the workers, but the load has a rate. Stages change one of the two")
	}
	return errors.Join(between("rate", float64(s.Rate), 0, 1e8), between("workers", float64(s.Workers), 0, 1<<20))
}

func (d *Durability) validate() error {
	w, journal := d.W, d.Name == "durable"
	if w == "" && d.Name == "throughput" {
		w = "0"
	}
	if d.Journal != nil {
		journal = *d.Journal
	}
	if near := nearest.DidYouMean(w, []string{"majority"}); near != "" && w != "majority" {
		return fmt.Errorf("durability.w: %q is not a number, a majority or the tag of a set%s", w, near)
	}
	if w == "0" && journal {
		return errors.New("durability: w: 0 and journal: true exclude each other, because a write with w: 0 has no reply that could wait for the " +
			"journal")
	}
	return nil
}

// durabilityName checks the name of a level. A majority is a write concern and not a level, although addresses of a lab
// have its name.
func durabilityName(name string) error {
	switch name {
	case "majority":
		return errors.New("durability.name: a majority is a write concern. Set w: majority (--w majority), which waits for the journals unless " +
			"journal is false")
	case "majority-unjournaled":
		return errors.New("durability.name: it is a write concern. Set w: majority and journal: false (--w majority --journal=false)")
	}
	return oneOf("durability.name", name, "throughput", "balanced", "durable")
}

func oneOf(key, value string, known ...string) error {
	if value == "" || slices.Contains(known, value) {
		return nil
	}
	return fmt.Errorf("%s: unknown value %q%s (known: %s)", key, value, nearest.DidYouMean(value, known), strings.Join(known, ", "))
}

func between(key string, x, low, high float64) error {
	if x >= low && x <= high && !math.IsNaN(x) {
		return nil
	}
	text := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	return fmt.Errorf("%s: %s is not between %s and %s", key, text(x), text(low), text(high))
}

// directory refuses an address, because its password would become part of a file name.
func directory(key, path string) error {
	if strings.Contains(path, "://") {
		return fmt.Errorf("%s: it needs a directory, not an address (%s)", key, redact.Addresses(path))
	}
	return nil
}

// zeros are the keys of a run for which an empty value, or zero, would silently become the default, with the next step.
var zeros = map[string]string{
	"target":              "Remove it for documents on this machine's disk, or write mongodb://HOST/",
	"workload.records":    "Remove it for 100k, or take the data as they are (load_phase.skip, --load skip)",
	"load.workers":        "Remove it for the default, or write the number of workers",
	"load.clients":        "Remove it for one load process",
	"load.rate":           "Remove it for a closed loop, or write the operations per second",
	"load.pace":           "Remove it, or write the operations per second of each worker",
	"load.duration":       "Remove it for 1m, or write a time such as 30s",
	"load.operations":     "Remove it, or write how many operations end the run",
	"load.timeout":        "Remove it for the default, or write a time such as 2s; every operation has a deadline",
	"load_phase.batch":    "Remove it for 1000",
	"load_phase.parallel": "Remove it for 16",
}

// RefuseZero refuses an empty value, or zero, of a key of a run for which it would silently become the default. text is
// the value as written; its error does not name the key.
func RefuseZero(key, text string) error {
	instead, refused := zeros[strings.TrimPrefix(key, "run.")]
	switch {
	case !refused:
		return nil
	case text == "":
		return fmt.Errorf("it is empty. %s", instead)
	}
	return fmt.Errorf("it cannot be %s. %s", text, instead)
}

func notNegative(key string, d Duration) error {
	if d < 0 {
		return fmt.Errorf("%s: %v is negative", key, d)
	}
	return nil
}

func databaseName(name string) error {
	if len(name) > 63 || strings.ContainsAny(name, "/\\. \"$*<>:|?\x00") {
		return fmt.Errorf("database: %q is not a name for a database. Use at most 63 characters, and none of /\\. \"$*<>:|?", name)
	}
	return nil
}
