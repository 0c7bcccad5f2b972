package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

func readLab(t *testing.T, text string) Lab {
	t.Helper()
	s, err := ReadLab(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	s.Defaults()
	return s
}

func TestLabDefaults(t *testing.T) {
	s := readLab(t, "")
	if s.Name != "lab" || s.Hosts.Mode != LabPlain || s.Hosts.Count != 1 || s.Engine.Name != "" ||
		s.Topology.Kind != LabStandalone ||
		s.Topology.Election != "" || s.Storage.Size != 0 || s.Storage.Policy() != "directory" {
		t.Errorf("an empty lab is %+v", s)
	}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	s = readLab(t, "topology: {members: 3}\navailability: {restart: true}")
	if s.Topology.Kind != LabReplicaSet || s.Topology.Election != "elect-default" || s.Hosts.Count != 3 ||
		s.Availability.RestartAfter == 0 {
		t.Errorf("three members are %+v", s)
	}
	s = readLab(t, "engine: {name: mongod}\ntopology: {shards: 3}")
	if c := s.Topology.Collection; s.Topology.Kind != LabSharded || s.Topology.ConfigServers != 3 ||
		s.Topology.Routers != 2 || c == nil ||
		c.Namespace != "plimsoll.usertable" || c.Sharding != "hashed" || c.Chunks != 6 {
		t.Errorf("three shards are %+v", s.Topology)
	}
	s = readLab(t, "storage: {tolerate: 1, cache: {}}")
	if st := s.Storage; st.Redundancy != "mirror" || st.Size == 0 || !st.Faults || st.Cache.Size == 0 || st.Stripe != 1 {
		t.Errorf("a policy is %+v", st)
	}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	if p := s.Storage.Policy(); !strings.Contains(p, "tolerates 1 failure by mirror") || !strings.Contains(p, "cached by") {
		t.Errorf("it is called %q", p)
	}
	again := s
	again.Defaults()
	if diff := cmp.Diff(s, again); diff != "" {
		t.Errorf("defaults of defaults differ: %s", diff)
	}
}

func TestPolicyInOneLine(t *testing.T) {
	on := true
	p := Storage{Size: 1 << 30, Stripe: 2, Tolerate: 1, Checksum: &on, StripeSize: 64 << 10, Filesystem: "xfs", Device: "hdd-7200",
		Cache: &CacheTier{Device: "nvme", Size: 1 << 20}, Faults: true}
	const want = "1.00 GiB, striped over 2, in pieces of 64.0 KiB, tolerates 1 failure by mirror, checksum on, xfs, on hdd-7200, cached by 1.00 MiB of nvme, with faults"
	if got := p.Policy(); got != want {
		t.Errorf("got %q", got)
	}
	if got := (Storage{}).Policy(); got != "directory" {
		t.Errorf("nothing asked for is %q", got)
	}
}

// What is wrong is said with its key and, where there is one, the way out.
func TestLabMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"name: My Lab":                                                                         "lower-case letters, digits and hyphens",
		"hosts: {mode: isolate}":                                                               "did you mean isolated?",
		"hosts: {cores: 2}":                                                                    "Set mode: isolated",
		"hosts: {mode: isolated, cores: 0.01}":                                                 "no server starts",
		"hosts: {mode: isolated, memory: 1MiB}":                                                "hosts.memory",
		"hosts: {count: 1}\navailability: {restart: true}":                                     "second host",
		"storage: {size: 1MiB}":                                                                "storage.size",
		"storage: {redundancy: parity}":                                                        "Set tolerate",
		"storage: {tolerate: 3, redundancy: parity}":                                           "storage.tolerate: 3 is not between 0 and 2",
		"storage: {backend: directory, stripe: 2}":                                             "Remove backend",
		"storage: {backend: disk, tolerate: 1}":                                                "disk is one disk",
		"storage: {backend: btrfs, filesystem: xfs}":                                           "set backend: md, lvm or disk",
		"storage: {backend: btrfs, stripe_size: 128KiB}":                                       "btrfs always has stripes of 64KiB",
		"storage: {size: 1GiB, cache: {size: 2GiB}}":                                           "more than the volume",
		"engine: {name: mongo}":                                                                "did you mean mongod?",
		"engine: {name: documentdb, args: [--quiet]}":                                          "documentdb has parameters",
		"engine: {name: mongod, connections: 5}":                                               "maxConns",
		"engine: {parameters: {a=b: c}}":                                                       "not a name of a setting",
		"topology: {kind: standalone, members: 3}":                                             "kind: replica-set",
		"topology: {kind: replica-set, routers: 3}":                                            "kind: sharded",
		"engine: {name: documentdb}\ntopology: {kind: sharded}":                                "documentdb has no sharding",
		"engine: {name: documentdb}\ntopology: {members: 2, arbiter: true}":                    "arbiter has no effect",
		"topology: {members: 3, priorities: [1]}":                                              "1 values for 3 members",
		"engine: {name: mongod}\ntopology: {priorities: [0, 0]}":                               "no member could become primary",
		"engine: {name: mongod}\ntopology: {members: 7, arbiter: true}":                        "all 7 votes",
		"engine: {name: mongod}\ntopology: {members: 8, priorities: [1, 1, 1, 1, 1, 1, 1, 1]}": "member 8 has no vote",
		"engine: {name: mongod}\ntopology: {members: 1, arbiter: true}":                        "useless with a single member",
		"topology: {members: 51}":                                                              "topology.members: 51",
		"topology: {members: 3, priorities: [-1, 1, 1]}":                                       "not between 0 and 1000",
		"topology: {members: 3, election: elect-never}":                                        "elect-default, elect-fast",
		"topology: {kind: ring}":                                                               "standalone, replica-set, sharded",
		"hosts: {count: 65}":                                                                   "hosts.count: 65",
		"topology: {members: 3, settings: {electionTimeoutMilis: 1}}":                          "did you mean electionTimeoutMillis?",
		"topology: {members: 3, settings: {electionTimeoutMillis: 0}}":                         "not a whole number of at least 1",
		"topology: {members: 3, settings: {chainingAllowed: perhaps}}":                         "neither true nor false",
		"topology: {shards: 2, config_servers: 8}":                                             "topology.config_servers: 8",
		"topology: {collection: {namespace: config.chunks}}":                                   "not DATABASE.COLLECTION of a user",
		"topology: {collection: {split_at: [a, a]}}":                                           "not unique",
		"topology: {collection: {sharding: ranged, key: age}}":                                 "Set borders for age",
		"engine: {name: mongod}\ntopology: {shards: 30, members: 50}":                          "the limit of 200",
		"engine: {name: mongod}\ntopology: {collection: {namespace: usertable}}":               "DATABASE.COLLECTION",
		"engine: {name: mongod}\ntopology: {collection: {split_at: [b, a]}}":                   "ascending order",
		"engine: {name: mongod}\ntopology: {collection: {split_at: [b], sharding: hashed}}":    "it is for sharding: ranged",
		"engine: {name: mongod}\ntopology: {shards: 4, collection: {chunks: 2}}":               "leave some of the 4 shards empty",
		"engine: {name: mongod}\navailability: {promote_after: 2s}":                            "mongod elects a primary automatically",
		"availability: {promote_after: 2s, no_promotion: true}":                                "exclude each other",
		"availability: {restart_after: 2s}":                                                    "it needs restart: true",
	} {
		s := readLab(t, text)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

func TestReadLabIsStrict(t *testing.T) {
	for text, want := range map[string]string{
		"hots: {}":                     `unknown key "hots" in the lab, did you mean hosts?`,
		"hosts: {core: 2}":             "did you mean cores?",
		"storage: {size: 4Gib}":        "did you mean GiB?",
		"topology: {members: x}":       "not a number",
		"a: b\n---\nc: d":              "second document",
		"hosts: {cores: many}":         "not a number",
		"storage: {checksum: perhaps}": "neither true nor false",
		"topology: {collection: [a]}":  "needs keys below it",
	} {
		if _, err := ReadLab(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

// Whatever is read can be filled in, checked, written and read again as the same.
func FuzzReadLab(f *testing.F) {
	f.Add("name: a\nhosts: {mode: isolated, cores: 0.5, memory: 1GiB}\nstorage: {size: 4GiB, tolerate: 1}\n")
	f.Add("engine: {name: mongod}\ntopology: {shards: 2, collection: {split_at: [a, b]}}")
	f.Add("storage: {cache: {device: nvme}}")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ReadLab(strings.NewReader(text))
		if err != nil {
			return
		}
		s.Defaults()
		if s.Validate() != nil {
			return
		}
		b, err := yaml.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ReadLab(strings.NewReader(string(b)))
		if err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		again.Defaults()
		if diff := cmp.Diff(s, again); diff != "" {
			t.Errorf("%s\n%s", diff, b)
		}
	})
}
