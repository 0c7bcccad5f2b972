package spec

// Run is what a run is asked to do: what a specification file says, with what flags changed in it.
// A record keeps it without credentials.
type Run struct {
	// Target is a mongodb:// or mongodb+srv:// URI, lab:NAME, embedded:DIR, null:, null:tcp, or http://HOST:PORT/ of a
	// REST service for persons.
	Target string `json:"target,omitempty" yaml:"target,omitempty"`
	// Via is what stands between the load and the target: absent, nothing; "rest", a REST service that is started beside
	// the load and ends with it. It takes the workload person.
	Via string `json:"via,omitempty" yaml:"via,omitempty" jsonschema:"enum=rest"`
	// Database holds the collections of the workload.
	Database string `json:"database,omitempty" yaml:"database,omitempty"`
	// Client is how a MongoDB target is spoken to: "wire" (plimsoll's own, fast) or "driver" (the
	// official driver, what applications feel).
	Client string `json:"client,omitempty" yaml:"client,omitempty" jsonschema:"enum=wire,enum=driver"`
	// StoragePolicy is the storage policy (SPBM) of the disks of all members, for a study that has a platform.
	StoragePolicy string `json:"storage_policy,omitempty" yaml:"storage_policy,omitempty"`
	// Workload says what to do.
	Workload Workload `json:"workload" yaml:"workload"`
	// Load says how much, how fast and for how long.
	Load Load `json:"load" yaml:"load"`
	// LoadPhase says how the data get there before the run.
	LoadPhase LoadPhase `json:"load_phase" yaml:"load_phase"`
	// Durability says how safe writes must be and how fresh reads.
	Durability Durability `json:"durability" yaml:"durability"`
	// Objectives must be met, for example "p99<20ms" or "errors<0.1%".
	Objectives []string `json:"objectives,omitempty" yaml:"objectives,omitempty"`
	// Observe says what else is recorded.
	Observe *Observe `json:"observe,omitempty" yaml:"observe,omitempty"`
	// Out is the directory of the record.
	Out string `json:"out,omitempty" yaml:"out,omitempty"`
	// Labels are kept with the result, to find it again.
	Labels map[string]string `json:"labels,omitempty" yaml:"labels,omitempty"`
}

// Workload names a workload and its parameters.
type Workload struct {
	// Name is a built-in workload: a to f, ycsb-a to ycsb-f, person, location, catalog. Or it is the path of a workload
	// file, which ends in .yaml.
	Name string `json:"name,omitempty" yaml:"name,omitempty"`
	// File is the workload file that Name says, as it was read. It is not given: records have it.
	File *WorkloadFile `json:"file,omitempty" yaml:"file,omitempty"`
	// Mode is "core" (corrected generators) or "ycsb" (identical to YCSB).
	Mode string `json:"mode,omitempty" yaml:"mode,omitempty" jsonschema:"enum=core,enum=ycsb"`
	// Seed makes the run repeatable.
	Seed uint64 `json:"seed,omitempty" yaml:"seed,omitempty"`
	// Records is how many documents are loaded, for example 100k. It scales the counts of a workload file, which has its
	// own if it is absent.
	Records Count `json:"records,omitempty" yaml:"records,omitempty"`
	// Params are further parameters of the workload.
	Params map[string]string `json:"params,omitempty" yaml:"params,omitempty"`
	// AllowOtherDatabases are the databases, besides that of the run, that pipelines of a workload file or recording may
	// name, for example in $merge. None if it is absent.
	AllowOtherDatabases []string `json:"allow_other_databases,omitempty" yaml:"allow_other_databases,omitempty"`
}

// Load says how the load is made.
type Load struct {
	// Workers is how many operations can be under way at once; with stages that change them, how many there
	// are before the first one, none if it is not given.
	Workers Count `json:"workers,omitempty" yaml:"workers,omitempty"`
	// Clients is how many load clients share the load: workers, rate and operations are divided among them. 1 if absent.
	Clients Count `json:"clients,omitempty" yaml:"clients,omitempty"`
	// Place is where the clients run: as processes on this machine if it is absent, otherwise in agents: "manual" (a
	// person starts them), "ssh:HOST,HOST" or "kubernetes".
	Place string `json:"place,omitempty" yaml:"place,omitempty"`
	// Strict ends a run whose client is lost. Otherwise the others go on, and the record says what is missing.
	Strict bool `json:"strict,omitempty" yaml:"strict,omitempty"`
	// Shares says how the load is divided among clients: "equal", or by "weight", which is the operations per second that
	// each can send by the calibration of its machine. Equal if absent.
	Shares string `json:"shares,omitempty" yaml:"shares,omitempty" jsonschema:"enum=equal,enum=weight"`
	// Zones are the shares of the load that come from the agents of each zone, together 100%, for example
	// {eu-west: 20%, us-east: 80%}. A name KEY=VALUE is that of the agents with this label; host=NAME needs no label.
	Zones map[string]Share `json:"zones,omitempty" yaml:"zones,omitempty"`
	// Rate is the operations per second offered by all workers together, for example 20k. With it the
	// run is an open loop; without it each worker sends when it has its last answer.
	Rate Rate `json:"rate,omitempty" yaml:"rate,omitempty"`
	// Replay is a file that 'plimsoll workload record --recording' wrote: its operations are sent at the times at which
	// they were recorded. With Rate, they are sent faster or slower so that this is the mean rate.
	Replay string `json:"replay,omitempty" yaml:"replay,omitempty"`
	// Speed is how much faster than recorded a Replay is sent. 1 if absent.
	Speed float64 `json:"speed,omitempty" yaml:"speed,omitempty"`
	// Arrivals spreads the operations of an open loop: "poisson" (independent users) or "constant".
	Arrivals string `json:"arrivals,omitempty" yaml:"arrivals,omitempty" jsonschema:"enum=poisson,enum=constant"`
	// Seed makes the moments of Poisson arrivals and the stagger of paced workers repeatable; absent, it is that of
	// the workload. A study that does not give one gives each block its own, because the same moments in every trial
	// would show none of the scatter that they have.
	Seed uint64 `json:"seed,omitempty" yaml:"seed,omitempty"`
	// Pace is the operations per second of each worker (YCSB's target divided by its threads).
	Pace Rate `json:"pace,omitempty" yaml:"pace,omitempty"`
	// Late is what becomes of operations that are due while all workers are busy: "queue" sends them
	// late, "drop" gives them up after DropAfter; both are counted.
	Late string `json:"late,omitempty" yaml:"late,omitempty" jsonschema:"enum=queue,enum=drop"`
	// DropAfter is how late is too late.
	DropAfter Duration `json:"drop_after,omitempty" yaml:"drop_after,omitempty"`
	// Stages change the rate or the number of workers during the run.
	Stages []Stage `json:"stages,omitempty" yaml:"stages,omitempty"`
	// Warmup comes before the measured time and is not part of the result.
	Warmup Duration `json:"warmup,omitempty" yaml:"warmup,omitempty"`
	// Duration is the measured time.
	Duration Duration `json:"duration,omitempty" yaml:"duration,omitempty"`
	// Operations ends the run when so many are done.
	Operations Count `json:"operations,omitempty" yaml:"operations,omitempty"`
	// Timeout is the deadline of each operation.
	Timeout Duration `json:"timeout,omitempty" yaml:"timeout,omitempty"`
}

// Stage is a part of a run that ends at another rate or number of workers than it began with.
type Stage struct {
	// Duration is how long it takes.
	Duration Duration `json:"duration,omitempty" yaml:"duration,omitempty"`
	// Rate is the rate at its end.
	Rate Rate `json:"rate,omitempty" yaml:"rate,omitempty"`
	// Workers is the number of workers at its end.
	Workers Count `json:"workers,omitempty" yaml:"workers,omitempty"`
	// Step changes at its beginning instead of in a ramp.
	Step bool `json:"step,omitempty" yaml:"step,omitempty"`
}

// LoadPhase says how the data are loaded before the run. Without Skip and Drop, what is missing is
// loaded, and what an earlier load phase of the same workload left is used.
type LoadPhase struct {
	// Skip takes the data as they are.
	Skip bool `json:"skip,omitempty" yaml:"skip,omitempty"`
	// Only ends the run after loading.
	Only bool `json:"only,omitempty" yaml:"only,omitempty"`
	// Batch is how many documents one insert carries.
	Batch Count `json:"batch,omitempty" yaml:"batch,omitempty"`
	// Parallel is how many inserts are under way at once.
	Parallel Count `json:"parallel,omitempty" yaml:"parallel,omitempty"`
	// Drop removes the collections first.
	Drop bool `json:"drop,omitempty" yaml:"drop,omitempty"`
}

// Durability says how safe writes must be and how fresh reads.
type Durability struct {
	// Name is a durability level: "throughput" (w:0), "balanced" (acknowledged, j:false) or "durable"
	// (acknowledged and journaled). W and Journal override it.
	Name string `json:"name,omitempty" yaml:"name,omitempty" jsonschema:"enum=throughput,enum=balanced,enum=durable"`
	// W is how many members acknowledge: a number, "majority" or a tag. Empty leaves it to the server.
	W string `json:"w,omitempty" yaml:"w,omitempty"`
	// Journal waits for the journal. Absent leaves it to the server.
	Journal *bool `json:"journal,omitempty" yaml:"journal,omitempty"`
	// ReadConcern is the read concern level. Empty leaves it to the server.
	ReadConcern string `json:"read_concern,omitempty" yaml:"read_concern,omitempty" jsonschema:"enum=local,enum=available,enum=majority,enum=linearizable,enum=snapshot"`
	// ReadPreference is which members may answer reads. Empty is the primary.
	ReadPreference string `json:"read_preference,omitempty" yaml:"read_preference,omitempty" jsonschema:"enum=primary,enum=primaryPreferred,enum=secondary,enum=secondaryPreferred,enum=nearest"`
	// Causal makes the session of each worker causally consistent: its reads wait for what it has written and read before.
	Causal bool `json:"causal,omitempty" yaml:"causal,omitempty"`
}
