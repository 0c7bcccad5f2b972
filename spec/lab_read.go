package spec

import (
	"fmt"
	"io"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
)

const (
	LabPlain      = "plain"
	LabIsolated   = "isolated"
	LabMongod     = "mongod"
	LabDocumentDB = "documentdb"
	LabNone       = "none"
	LabStandalone = "standalone"
	LabReplicaSet = "replica-set"
	LabSharded    = "sharded"
)

// ReadLab reads a lab in YAML, as strictly as [ReadRun]. The caller must choose an engine and complete it
// ([Lab.Complete]). Planning the lab checks what this machine can do.
func ReadLab(r io.Reader) (Lab, error) { return ReadStrict[Lab](r, "lab") }

// Complete fills in the defaults and checks the result; see [Run.Complete]. The engine must have been chosen before.
func (s *Lab) Complete() error {
	s.Defaults()
	return s.Validate()
}

// Defaults fills in missing values. This is the only place with defaults of a lab; each has its reason. The engine has
// none, because it depends on what is installed (lab.ChooseEngine).
func (s *Lab) Defaults() {
	def(&s.Name, "lab")
	if s.InKubernetes() {
		s.Topology.defaults()
		s.podDefaults()
		return
	}
	def(&s.Hosts.Mode, LabPlain) // works without root and on a laptop
	s.Topology.defaults()
	def(&s.Hosts.Count, s.defaultHosts())
	s.Storage.defaults()
	if s.Availability.Restart {
		// vSphere HA takes 18 to 30 s to find a host dead and Kubernetes minutes; a drill must not wait that long.
		def(&s.Availability.RestartAfter, Duration(10e9))
	}
	deadline := Duration(180e9) // a replica set takes seconds; a busy machine ten times as long
	if s.Topology.Kind == LabSharded {
		deadline = 300e9 // eleven servers, one after another
	}
	def(&s.Deadline, deadline)
}

func (t *Topology) defaults() {
	if t.Kind == "" {
		switch {
		case t.Shards > 0 || t.Routers > 0 || t.ConfigServers > 0 || t.Collection != nil:
			t.Kind = LabSharded
		case t.Members > 1 || t.Arbiter || len(t.Priorities) > 1:
			t.Kind = LabReplicaSet
		default:
			t.Kind = LabStandalone
		}
	}
	if t.Kind == LabStandalone {
		def(&t.Members, 1)
		return
	}
	members := Count(3) // the smallest set that survives a member and still has a majority
	if len(t.Priorities) > 0 {
		members = Count(len(t.Priorities))
	} else if t.Arbiter {
		members = 2 // the usual set with an arbiter
	}
	def(&t.Members, members)
	def(&t.Election, "elect-default") // what users have
	if t.Kind == LabSharded {
		t.shardedDefaults()
	}
}

func (t *Topology) shardedDefaults() {
	def(&t.Shards, 2)
	def(&t.ConfigServers, 3) // as MongoDB recommends
	def(&t.Routers, 2)       // one may fail
	if t.Collection == nil {
		t.Collection = &Collection{}
	}
	c := t.Collection
	def(&c.Namespace, "plimsoll.usertable") // the one that `plimsoll run` loads
	def(&c.Key, "_id")
	if c.Sharding == "" {
		c.Sharding = "hashed" // spreads YCSB's keys evenly
		if len(c.SplitAt) > 0 {
			c.Sharding = "ranged"
		}
	}
	chunks := 2 * t.Shards
	if len(c.SplitAt) > 0 {
		chunks = Count(len(c.SplitAt) + 1)
	}
	def(&c.Chunks, chunks)
}

// defaultHosts is one host for each member of a set, and a second one if a single member is to be restarted elsewhere.
func (s *Lab) defaultHosts() Count {
	n := s.Topology.Members
	if s.Topology.Arbiter {
		n++
	}
	if s.Availability.Restart {
		n = max(n, 2)
	}
	return min(n, maxLabHosts)
}

func (s *Storage) defaults() {
	if s.Cache != nil {
		def(&s.Cache.Device, "nvme")
	}
	if s.Device != "" || s.Cache != nil {
		s.Faults = true // only the fault filesystem imitates device classes
	}
	def(&s.Backend, "auto")
	if s.usesDisks() {
		def(&s.Size, 2<<30) // sparse, so it takes only what is written
		def(&s.Stripe, 1)
		if s.Tolerate > 0 {
			def(&s.Redundancy, "mirror")
		}
	}
	if s.Cache != nil {
		def(&s.Cache.Size, s.Size/10/4096*4096) // a tenth of the data, as vSAN's guide recommends
	}
}

// usesDisks reports whether the policy needs more than a plain directory.
func (s *Storage) usesDisks() bool {
	if s.Backend == "directory" {
		return false
	}
	return s.Backend != "" && s.Backend != "auto" || s.Size > 0 || s.Stripe > 1 || s.Tolerate > 0 || s.Checksum != nil ||
		s.Filesystem != "" || s.Faults || s.StripeSize > 0 || s.Redundancy != ""
}

// Policy is the specified storage policy in one line.
func (s Storage) Policy() string {
	if !s.usesDisks() {
		return "directory"
	}
	out := []string{figure.Bytes(int64(s.Size))}
	add := func(when bool, format string, a ...any) {
		if when {
			out = append(out, fmt.Sprintf(format, a...))
		}
	}
	add(s.Stripe > 1, "striped over %d", s.Stripe)
	add(s.StripeSize > 0, "in pieces of %s", figure.Bytes(int64(s.StripeSize)))
	if s.Tolerate > 0 {
		def(&s.Redundancy, "mirror")
		add(true, "tolerates %s by %s", figure.Plural(int(s.Tolerate), "failure"), s.Redundancy)
	}
	if s.Checksum != nil {
		add(true, "checksum %s", map[bool]string{true: "on", false: "off"}[*s.Checksum])
	}
	add(s.Filesystem != "", "%s", s.Filesystem)
	add(s.Device != "", "on %s", s.Device)
	if s.Cache != nil {
		add(true, "cached by %s of %s", figure.Bytes(int64(s.Cache.Size)), s.Cache.Device)
	}
	add(s.Faults, "with faults")
	return strings.Join(out, ", ")
}
