package spec

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/expression"
)

// The limits of a lab: what one machine can bear, and what MongoDB allows.
const (
	maxLabHosts   = 64
	maxLabMembers = 50 // of a replica set
	maxRouters    = 32
	maxChunks     = 100_000
	maxLabServers = 200
	minVolume     = Size(256 << 20) // below that btrfs and xfs refuse, or WiredTiger and PostgreSQL have no room
)

const (
	MaxShards = 32
	MaxVotes  = 7 // of a replica set (manual: "Replica Set Members")
)

// LabNamePattern is what a lab may be called: it is part of names of directories, control groups and network
// namespaces.
const LabNamePattern = `^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`

var labName = expression.New(LabNamePattern)

// DeviceClasses are the names of the device classes that disks can imitate; see lab/faultfs.
func DeviceClasses() []string {
	return []string{"hdd-7200", "hdd-10k", "hdd-15k", "azure-premium", "ebs-gp3", "sata-ssd", "ebs-io2", "nvme", "sas-ssd", "nvme-plp"}
}

// CheckLabName checks that a name can be that of a lab.
func CheckLabName(name string) error {
	if labName().MatchString(name) {
		return nil
	}
	return fmt.Errorf("name: %q is not a name for a lab. Use up to 32 lower-case letters, digits and hyphens, such as three-members", name)
}

// Validate checks a lab with its defaults, as far as that is possible without the machine; see [Lab.Complete].
func (s *Lab) Validate() error {
	if s.InKubernetes() {
		return errors.Join(CheckLabName(s.Name), s.Hosts.validate(), s.Storage.Validate(), s.Engine.validate(),
			s.Topology.validate(), s.checkCache(), notNegative("deadline", s.Deadline), s.checkPods())
	}
	return errors.Join(
		CheckLabName(s.Name),
		s.Hosts.validate(),
		s.Storage.Validate(),
		s.Engine.validate(),
		s.Topology.validate(),
		s.Availability.validate(),
		s.checkEngineAndTopology(),
		s.checkHosts(), s.checkCache(),
		notNegative("deadline", s.Deadline),
	)
}

func (h *Hosts) validate() error {
	errs := []error{
		oneOf("hosts.mode", h.Mode, LabPlain, LabIsolated, LabKubernetes),
		between("hosts.count", float64(h.Count), 0, maxLabHosts),
		limits("hosts", h.Cores, h.Memory),
		sizeBetween("hosts.network", h.Network, 10<<10, 1<<50),
	}
	for _, of := range []struct {
		key string
		l   *HostLimits
	}{{"hosts.router", h.Router}, {"hosts.config", h.Config}} {
		if of.l != nil {
			errs = append(errs, limits(of.key, of.l.Cores, of.l.Memory))
		}
	}
	limited := h.Cores != 0 || h.Memory != 0 || h.Network != 0 || h.Router != nil || h.Config != nil
	if h.Mode == LabPlain && limited {
		errs = append(errs, errors.New("hosts: cores, memory and network are limits of isolated hosts. Set mode: isolated (--hosts isolated; root on Linux), or "+
			"remove them"))
	}
	return errors.Join(errs...)
}

func limits(key string, cores float64, memory Size) error {
	var low error
	if cores > 0 && cores < 0.05 {
		low = fmt.Errorf("%s.cores: %v is less than 0.05, and no server starts with that", key, cores)
	}
	return errors.Join(between(key+".cores", cores, 0, 4096), low, sizeBetween(key+".memory", memory, 64<<20, 1<<50))
}

// sizeBetween accepts 0, which is absent.
func sizeBetween(key string, x, low, high Size) error {
	if x == 0 || x >= low && x <= high {
		return nil
	}
	return fmt.Errorf("%s: %v is not between %v and %v", key, x, low, high)
}

// Validate checks a storage policy as far as that is possible without the machine. All limits of policies are here.
func (s *Storage) Validate() error {
	errs := []error{
		oneOf("storage.backend", s.Backend, "auto", "directory", "disk", "btrfs", "md", "lvm"),
		oneOf("storage.redundancy", s.Redundancy, "mirror", "parity"),
		oneOf("storage.filesystem", s.Filesystem, "xfs", "ext4", "btrfs"),
		oneOf("storage.device", s.Device, DeviceClasses()...),
		sizeBetween("storage.size", s.Size, minVolume, 1<<50),
		between("storage.stripe", float64(s.Stripe), 0, 12),
		sizeBetween("storage.stripe_size", s.StripeSize, 4<<10, 1<<30),
		s.checkRedundancy(), s.checkBackend(),
	}
	if s.Cache != nil {
		errs = append(errs, oneOf("storage.cache.device", s.Cache.Device, DeviceClasses()...))
		errs = append(errs, sizeBetween("storage.cache.size", s.Cache.Size, 1<<20, 1<<50))
		if s.Cache.Size > s.Size {
			errs = append(errs, fmt.Errorf("storage.cache.size: %v is more than the volume of %v", s.Cache.Size, s.Size))
		}
	}
	return errors.Join(errs...)
}

func (s *Storage) checkRedundancy() error {
	switch {
	case s.Redundancy != "" && s.Redundancy != "mirror" && s.Redundancy != "parity":
		return nil // oneOf reports it
	case s.Redundancy != "" && s.Tolerate == 0:
		return fmt.Errorf("storage.redundancy: %s needs the number of failures. Set tolerate", s.Redundancy)
	case s.Redundancy == "parity" && s.Tolerate <= 2 && s.Stripe < 2:
		return fmt.Errorf("storage.stripe: parity needs at least two disks of data. Set stripe: %d (%d disks in all), or redundancy: "+
			"mirror", 2+s.Tolerate, 2+2*s.Tolerate)
	case s.Redundancy == "parity":
		return between("storage.tolerate", float64(s.Tolerate), 0, 2) // RAID 5 and 6
	}
	return between("storage.tolerate", float64(s.Tolerate), 0, 3) // up to four copies
}

func (s *Storage) checkBackend() error {
	var errs []error
	if s.Backend == "directory" {
		asked := *s
		asked.Backend = "auto"
		if asked.usesDisks() || s.Cache != nil || s.Device != "" {
			errs = append(errs, errors.New("storage.backend: a directory has no size, stripes, copies, checksums or device class. Remove backend, and plimsoll "+
				"chooses one"))
		}
	}
	if s.Backend == "disk" && (s.Stripe > 1 || s.Tolerate > 0) {
		errs = append(errs, errors.New("storage.backend: disk is one disk. Stripes and copies need btrfs, md or lvm"))
	}
	if s.Backend == "btrfs" && (s.Filesystem == "xfs" || s.Filesystem == "ext4") {
		errs = append(errs, fmt.Errorf("storage.filesystem: the backend btrfs is a filesystem. For %s set backend: md, lvm or disk",
			s.Filesystem))
	}
	if s.StripeSize > 0 && s.Backend == "btrfs" {
		errs = append(errs, errors.New("storage.stripe_size: btrfs always has stripes of 64KiB. Remove it, or use md or lvm"))
	}
	return errors.Join(errs...)
}

func (e *Engine) validate() error {
	errs := []error{
		oneOf("engine.name", e.Name, LabMongod, LabDocumentDB, LabNone),
		sizeBetween("engine.cache", e.Cache, 1<<20, 1<<45),
		between("engine.connections", float64(e.Connections), 0, 10_000),
	}
	if e.Name == LabDocumentDB && (e.Binary != "" || len(e.Args) > 0) {
		errs = append(errs, errors.New("engine: binary and args are for mongod. documentdb has parameters"))
	}
	if e.Name == LabMongod && e.Connections != 0 {
		errs = append(errs, errors.New("engine.connections: it is for the gateways of documentdb. For mongod set maxConns in args"))
	}
	roles := e.Roles()
	if e.Name == LabNone && (e.Version != "" || e.Binary != "" || e.Cache != 0 || e.Connections != 0 ||
		len(e.Parameters) > 0 || len(e.Args) > 0 ||
		len(roles) > 1 || e.Authentication || e.TLS) {
		errs = append(errs, errors.New("engine: none has no server, and so no version, binary, cache, connections, parameters, args, authentication or "+
			"tls. Remove them, or set name: mongod or documentdb"))
	}
	if e.Name == LabDocumentDB && len(roles) > 1 {
		errs = append(errs, errors.New("engine: config, arbiter and router are roles of mongod and mongos. documentdb has none of them"))
	}
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		for name := range roles[role].Parameters {
			if strings.TrimSpace(name) == "" || strings.ContainsAny(name, "= \n'") {
				errs = append(errs, fmt.Errorf("%s: %q is not a name of a setting", EngineKey(role, "parameters"), name))
			}
		}
	}
	return errors.Join(errs...)
}

// EngineKey is the name of a key below "engine", or below one of its roles.
func EngineKey(role, key string) string {
	if role != "" {
		key = role + "." + key
	}
	return "engine." + key
}

func (t *Topology) validate() error {
	errs := []error{
		oneOf("topology.kind", t.Kind, LabStandalone, LabReplicaSet, LabSharded),
		oneOf("topology.election", t.Election, "elect-default", "elect-fast"),
		between("topology.members", float64(t.Members), 0, maxLabMembers),
		between("topology.shards", float64(t.Shards), 0, MaxShards),
		between("topology.config_servers", float64(t.ConfigServers), 0, MaxVotes),
		between("topology.routers", float64(t.Routers), 0, maxRouters),
		t.checkKind(), t.checkPriorities(),
	}
	if t.Kind == LabSharded {
		errs = append(errs, t.checkSharded())
	}
	return errors.Join(errs...)
}

func (t *Topology) checkKind() error {
	var errs []error
	if t.Kind == LabStandalone && (t.Members > 1 || t.Arbiter || len(t.Priorities) > 0 || len(t.Settings) > 0 ||
		t.Election != "") {
		errs = append(errs, errors.New("topology: a standalone has one member and no elections. For more set kind: replica-set (--members)"))
	}
	if t.Kind != LabSharded && (t.Shards > 0 || t.ConfigServers > 0 || t.Routers > 0 || t.Collection != nil) {
		errs = append(errs, errors.New("topology: shards, config_servers, routers and collection are for kind: sharded"))
	}
	return errors.Join(errs...)
}

func (t *Topology) checkPriorities() error {
	var errs []error
	if n := len(t.Priorities); n > 0 && n != int(t.Members) {
		errs = append(errs, fmt.Errorf("topology.priorities: %d values for %d members", n, t.Members))
	}
	for i, p := range t.Priorities {
		errs = append(errs, between("topology.priorities", p, 0, 1000))
		if i >= t.DataVotes() && p != 0 {
			errs = append(errs, fmt.Errorf("topology.priorities: member %d has no vote, because only %d may vote. Set its priority to 0", i+1, MaxVotes))
		}
	}
	if len(t.Priorities) > 0 && slices.Max(t.Priorities) == 0 {
		errs = append(errs, errors.New("topology.priorities: all are 0, so no member could become primary"))
	}
	if t.Arbiter && t.Members == 1 {
		errs = append(errs, errors.New("topology.arbiter: an arbiter is useless with a single member. Set members: 2, or remove it"))
	}
	if t.Arbiter && t.Members >= MaxVotes {
		errs = append(errs, fmt.Errorf("topology.arbiter: %d members have all %d votes of a set. Remove it", t.Members, MaxVotes))
	}
	return errors.Join(errs...)
}

// DataVotes is the number of members with data that have a vote, in each set.
func (t *Topology) DataVotes() int {
	votes := MaxVotes
	if t.Arbiter {
		votes--
	}
	return min(votes, int(t.Members))
}

func (t *Topology) checkSharded() error {
	var errs []error
	servers := t.Shards*t.Members + t.ConfigServers + t.Routers
	if servers > maxLabServers {
		errs = append(errs, fmt.Errorf("topology: %d servers are more than the limit of %d", servers, maxLabServers))
	}
	if c := t.Collection; c != nil {
		errs = append(errs, c.validate(t.Shards))
	}
	return errors.Join(errs...)
}

func (c *Collection) validate(shards Count) error {
	db, name, _ := strings.Cut(c.Namespace, ".")
	errs := []error{
		oneOf("topology.collection.sharding", c.Sharding, "hashed", "ranged"),
		between("topology.collection.chunks", float64(c.Chunks), 0, maxChunks),
	}
	if db == "" || name == "" || databaseName(db) != nil || slices.Contains([]string{"admin", "config", "local"}, db) {
		errs = append(errs, fmt.Errorf("topology.collection.namespace: %q is not DATABASE.COLLECTION of a user", c.Namespace))
	}
	if strings.HasPrefix(c.Key, "$") || strings.ContainsAny(c.Key, " \x00") {
		errs = append(errs, fmt.Errorf("topology.collection.key: %q is not the name of a field", c.Key))
	}
	if len(c.SplitAt) > 0 && c.Sharding == "hashed" {
		errs = append(errs, errors.New("topology.collection.split_at: it is for sharding: ranged. A hashed key is split evenly"))
	}
	if len(c.SplitAt) > 0 && c.Chunks != Count(len(c.SplitAt)+1) {
		errs = append(errs, fmt.Errorf("topology.collection.chunks: %d borders make %d chunks, not %d", len(c.SplitAt), len(c.SplitAt)+1, c.Chunks))
	}
	if !slices.IsSorted(c.SplitAt) || len(slices.Compact(slices.Clone(c.SplitAt))) != len(c.SplitAt) {
		errs = append(errs, errors.New("topology.collection.split_at: the borders are not in ascending order or not unique"))
	}
	if c.Sharding == "ranged" && len(c.SplitAt) == 0 && c.Key != "_id" {
		errs = append(errs, fmt.Errorf("topology.collection.split_at: the default borders are for YCSB's keys in _id. Set borders for %s", c.Key))
	}
	if c.Chunks > 0 && c.Chunks < shards {
		errs = append(errs, fmt.Errorf("topology.collection.chunks: %d chunks leave some of the %d shards empty", c.Chunks, shards))
	}
	return errors.Join(errs...)
}

func (a *Availability) validate() error {
	errs := []error{notNegative("availability.restart_after", a.RestartAfter)}
	if a.RestartAfter != 0 && !a.Restart {
		errs = append(errs, errors.New("availability.restart_after: it needs restart: true"))
	}
	return errors.Join(errs...)
}

// checkMongod checks what only servers of MongoDB have: settings of sets, and roles.
func (s *Lab) checkMongod() error {
	_, err := s.Topology.SetSettings()
	errs := []error{err}
	if s.Engine.Arbiter != nil && !s.Topology.Arbiter {
		errs = append(errs, errors.New("engine.arbiter: the lab has no arbiter. Remove it, or set topology.arbiter: true"))
	}
	if s.Topology.Kind != LabSharded && (s.Engine.Router != nil || s.Engine.ConfigServer != nil) {
		errs = append(errs, errors.New("engine: config and router are servers of a sharded cluster. Remove them, or set topology.kind: sharded"))
	}
	return errors.Join(errs...)
}

func (s *Lab) checkEngineAndTopology() error {
	if s.Engine.Name == LabNone {
		return s.checkBare()
	}
	if a, n := s.Topology.Acknowledge, s.Topology.Members; a != 0 && (n < 2 || a < n/2+1 || a > n) {
		return fmt.Errorf("topology.acknowledge: %d of %d members: it must be from a majority (%d) to all members of a replica set", a, n, n/2+1)
	}
	if s.Engine.Name != LabDocumentDB {
		return s.checkMongod()
	}
	var errs []error
	if s.Topology.Kind == LabSharded {
		errs = append(errs, errors.New("topology.kind: documentdb has no sharding. Use engine: {name: mongod} (--engine mongod), or kind: replica-set "+
			"(--members alone)"))
	}
	if s.Topology.Arbiter {
		errs = append(errs, errors.New("topology.arbiter: with documentdb the members of etcd vote, so an arbiter has no effect. Remove it"))
	}
	if len(s.Topology.Priorities) > 0 {
		errs = append(errs, errors.New("topology.priorities: documentdb has no priorities; Patroni promotes the standby with the most log. Remove them"))
	}
	return errors.Join(errs...)
}

// checkBare checks a lab of volumes without servers.
func (s *Lab) checkBare() error {
	t := s.Topology
	var errs []error
	if t.Kind == LabSharded || t.Acknowledge != 0 || t.Arbiter || len(t.Priorities) > 0 || len(t.Settings) > 0 {
		errs = append(errs, errors.New("topology: without a database (engine: none) there are no shards, arbiters, priorities or elections. members is the "+
			"number of volumes"))
	}
	return errors.Join(errs...)
}

// loadable checks that a lab has a database.
func (s *Lab) loadable() error {
	if s.Engine.Name == LabNone {
		return errors.New("lab.engine.name: none has no database, so there is nothing to load. Set mongod or documentdb")
	}
	return nil
}

func (s *Lab) checkHosts() error {
	if s.Availability.Restart && s.Hosts.Count == 1 {
		return errors.New("hosts.count: availability.restart needs a second host to start members on")
	}
	return nil
}

func (s *Lab) checkCache() error {
	if s.Hosts.Memory > 0 && s.Engine.Cache > s.Hosts.Memory {
		return fmt.Errorf("engine.cache: %v is more than the memory of each host, %v (hosts.memory)", s.Engine.Cache, s.Hosts.Memory)
	}
	return nil
}
