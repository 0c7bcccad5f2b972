package spec

// Suite is what a folder of parts is asked to do: suite.yaml. A suite repeats a document, part after part,
// on one machine or against a deployment that is there.
type Suite struct {
	// Name is what the suite is called in tables and on pages; Title what it repeats, in a few words.
	Name  string `json:"name" yaml:"name"`
	Title string `json:"title,omitempty" yaml:"title,omitempty"`
	// Published is the document whose figures stand beside what is measured, a name of package published.
	Published string `json:"published,omitempty" yaml:"published,omitempty"`
	// Scale takes the parts from the document's hardware to this one. Parts that say their own are overruled.
	Scale *Scale `json:"scale,omitempty" yaml:"scale,omitempty"`
	// Parts are done in this order.
	Parts []Part `json:"parts" yaml:"parts"`
	// Out is the directory of the record.
	Out string `json:"out,omitempty" yaml:"out,omitempty"`
	// Labels are kept with the result.
	Labels map[string]string `json:"labels,omitempty" yaml:"labels,omitempty"`
}

// Part is one study, drill or probe of a suite. Exactly one of Study, Drill and Probe is given.
type Part struct {
	// Name is the directory of its record and its heading; absent, the name of its file.
	Name string `json:"name,omitempty" yaml:"name,omitempty"`
	// Study and Drill are files beside suite.yaml. They stay ordinary files that also run alone.
	Study string `json:"study,omitempty" yaml:"study,omitempty"`
	Drill string `json:"drill,omitempty" yaml:"drill,omitempty"`
	// Probe looks at the volume of a lab of its own.
	Probe *PartProbe `json:"probe,omitempty" yaml:"probe,omitempty"`
	// Each repeats a study or drill once for each value of a key of its run, such as workload.name: [a, b]. Each one is a
	// part of its own, named PART-VALUE, with a baseline of its own.
	Each map[string][]any `json:"each,omitempty" yaml:"each,omitempty"`
	// Needs is what has to be there: "root", "md", "lvm", or a capability of the engine: "sharding", "arbiters",
	// "priorities", "write-concern". A part without it is left out, with the reason.
	Needs []string `json:"needs,omitempty" yaml:"needs,omitempty"`
	// Shows are the sweeps and tables of the document that the part repeats, by their IDs.
	Shows []string `json:"shows,omitempty" yaml:"shows,omitempty"`
	// Level is which level of them a drill or a probe is; a study has its own levels.
	Level string `json:"level,omitempty" yaml:"level,omitempty"`
	// Gives are the keys that procedures of this study found and that later parts take: load.workers, load.duration.
	Gives []string `json:"gives,omitempty" yaml:"gives,omitempty"`
	// Repeat is how often a drill is done.
	Repeat Count `json:"repeat,omitempty" yaml:"repeat,omitempty"`
	// Vital parts are kept longest where a budget has to be met.
	Vital bool `json:"vital,omitempty" yaml:"vital,omitempty"`
}

// PartProbe is a disk probe on a volume that is made for it and removed afterwards. It needs root, but for plain
// directories.
type PartProbe struct {
	// Storage is the volume; Hosts say how many disks groups it is spread over.
	Storage Storage `json:"storage" yaml:"storage"`
	// Profiles as of plimsoll disk; Operations of the profile random: read, write, mixed.
	Profiles   []string `json:"profiles,omitempty" yaml:"profiles,omitempty"`
	Operations []string `json:"operations,omitempty" yaml:"operations,omitempty"`
	// Mode is direct, buffered or mmap; Size that of the test file, Block that of one operation.
	Mode  string `json:"mode,omitempty" yaml:"mode,omitempty" jsonschema:"enum=direct,enum=buffered,enum=mmap"`
	Size  Size   `json:"size,omitempty" yaml:"size,omitempty"`
	Block Size   `json:"block,omitempty" yaml:"block,omitempty"`
	// Threads are the numbers of threads, in order; Duration is of each step.
	Threads  []Count  `json:"threads,omitempty" yaml:"threads,omitempty"`
	Duration Duration `json:"duration,omitempty" yaml:"duration,omitempty"`
	// PowerCut takes the power of the volume's disks after the last step and reads back what had been acknowledged: a rate
	// of durable writes is worth nothing where they are not. The disks stand on plimsoll's own fault filesystem, as those
	// of a device class do anyway.
	PowerCut bool `json:"power_cut,omitempty" yaml:"power_cut,omitempty"`
}

// Scale is how much smaller than the document's hardware something is. Each is a fraction of one, written as 1/128 or
// 0.0078; absent ones are 1.
type Scale struct {
	// Data multiplies records, memory, the engine's cache, volumes and cache tiers, so that their ratios stay.
	Data Fraction `json:"data,omitempty" yaml:"data,omitempty"`
	// Workers multiplies workers, virtual users and threads.
	Workers Fraction `json:"workers,omitempty" yaml:"workers,omitempty"`
	// Cores multiplies the cores of hosts.
	Cores Fraction `json:"cores,omitempty" yaml:"cores,omitempty"`
	// Rates multiplies rates of load.
	Rates Fraction `json:"rates,omitempty" yaml:"rates,omitempty"`
	// Servers multiplies shards, routers and config servers, and the records and workers of a sharded cluster with them,
	// so that each shard keeps its share.
	Servers Fraction `json:"servers,omitempty" yaml:"servers,omitempty"`
	// Applied is written by plimsoll: the values of the study are those of here, and are not scaled again.
	Applied bool `json:"applied,omitempty" yaml:"applied,omitempty"`
}
