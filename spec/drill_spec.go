package spec

// Drill is what a drill is asked to do: a run, what is broken in it, and what may be lost.
type Drill struct {
	// Name is what the drill is called in tables and on pages.
	Name string `json:"name,omitempty" yaml:"name,omitempty"`
	// Run is the load. Its target is lab:NAME, or the address of a deployment that commands or people break.
	Run Run `json:"run" yaml:"run"`
	// Lab is what the drill brings up, loads and breaks, instead of a target that is there.
	Lab *Lab `json:"lab,omitempty" yaml:"lab,omitempty"`
	// Faults are what is broken, in order of time.
	Faults []Fault `json:"faults,omitempty" yaml:"faults,omitempty"`
	// Platform is a file that names the members of a target that is not a lab, and the commands that break them. A
	// relative name is relative to the file of the drill.
	Platform string `json:"platform,omitempty" yaml:"platform,omitempty"`
	// External means that a person or another program breaks the target; the moment is marked by a key or a signal.
	External bool `json:"external,omitempty" yaml:"external,omitempty"`
	// Reads say how the reads of the workload ledger are sent, and that more of them are judged.
	Reads *Reads `json:"reads,omitempty" yaml:"reads,omitempty"`
	// Expect says what must not happen; absent, what the durability level promises.
	Expect *Expect `json:"expect,omitempty" yaml:"expect,omitempty"`
	// Recovery is how long after the last heal redundancy may take to come back before the drill goes on without it.
	Recovery Duration `json:"recovery,omitempty" yaml:"recovery,omitempty"`
	// Repeat is how often the whole is done.
	Repeat Count `json:"repeat,omitempty" yaml:"repeat,omitempty"`
	// Jitter is the longest random delay of the faults of a round, 10 s if it is absent and there are several rounds. The
	// delays depend on the seed of the workload only.
	Jitter *Duration `json:"jitter,omitempty" yaml:"jitter,omitempty"`
	// Fresh brings the lab up anew for each repetition.
	Fresh bool `json:"fresh,omitempty" yaml:"fresh,omitempty"`
	// Out is the directory of the record.
	Out string `json:"out,omitempty" yaml:"out,omitempty"`
	// Labels are kept with the result.
	Labels map[string]string `json:"labels,omitempty" yaml:"labels,omitempty"`
}

// Reads says how a drill reads. Concern, Preference and Causal are short for the keys of run.durability, which win
// where they say something.
type Reads struct {
	// Concern is the read concern level.
	Concern string `json:"concern,omitempty" yaml:"concern,omitempty" jsonschema:"enum=local,enum=available,enum=majority,enum=linearizable,enum=snapshot"`
	// Preference is which members may answer.
	Preference string `json:"preference,omitempty" yaml:"preference,omitempty" jsonschema:"enum=primary,enum=primaryPreferred,enum=secondary,enum=secondaryPreferred,enum=nearest"`
	// Causal makes the session of each worker causally consistent.
	Causal bool `json:"causal,omitempty" yaml:"causal,omitempty"`
	// Share is which part of the operations reads, 40 % if it is not said.
	Share Share `json:"share,omitempty" yaml:"share,omitempty"`
}

// Expect says what a drill must hold.
type Expect struct {
	// Loss is "none", "any", or "window": acknowledged writes may be lost if they are no older than LossWindow at the
	// fault. Of a round it may be "unknown": nobody knows what its writes promise.
	Loss       string   `json:"loss,omitempty" yaml:"loss,omitempty" jsonschema:"enum=none,enum=window,enum=any,enum=unknown"`
	LossWindow Duration `json:"loss_window,omitempty" yaml:"loss_window,omitempty"`
	// Outage is the longest time without a success, Recovery the longest until 95 % of the throughput before.
	Outage   Duration `json:"outage,omitempty" yaml:"outage,omitempty"`
	Recovery Duration `json:"recovery,omitempty" yaml:"recovery,omitempty"`
	// Errors must stay at 0 if true: the fault has to be invisible.
	NoErrors bool `json:"no_errors,omitempty" yaml:"no_errors,omitempty"`
}
