package spec

import "strings"

// Lab is a lab as it is asked for: hosts, storage, an engine and a topology. A record keeps it without
// credentials.
type Lab struct {
	// Name is how commands call the lab.
	Name string `json:"name,omitempty" yaml:"name,omitempty"`
	// Hosts are the failure domains.
	Hosts Hosts `json:"hosts" yaml:"hosts"`
	// Kubernetes puts the members into pods of a cluster; absent, they are processes of this machine.
	Kubernetes *LabPods `json:"kubernetes,omitempty" yaml:"kubernetes,omitempty"`
	// Storage is the policy that every member's volume follows.
	Storage Storage `json:"storage" yaml:"storage"`
	// Engine is the server software.
	Engine Engine `json:"engine" yaml:"engine"`
	// Topology is what the servers form together.
	Topology Topology `json:"topology" yaml:"topology"`
	// Availability is what happens to the members of a host that died.
	Availability Availability `json:"availability" yaml:"availability"`
	// Deadline is how long the lab may take until it is usable.
	Deadline Duration `json:"deadline,omitempty" yaml:"deadline,omitempty"`
	// Labels are kept with the lab.
	Labels map[string]string `json:"labels,omitempty" yaml:"labels,omitempty"`
}

// Hosts says how many hosts there are and what each of them may use.
type Hosts struct {
	// Mode is "plain" (processes of this user on ports of loopback), "isolated" (a network namespace with an address
	// of its own and control groups; root on Linux) or "kubernetes" (pods).
	Mode string `json:"mode,omitempty" yaml:"mode,omitempty" jsonschema:"enum=plain,enum=isolated,enum=kubernetes"`
	// Count is how many hosts carry members; absent, one for each member of a replica set. Routers, gateways and
	// config servers stand on hosts of their own besides.
	Count Count `json:"count,omitempty" yaml:"count,omitempty"`
	// Cores and Memory are what each host may use; absent, as much as the machine has. Isolated hosts only.
	Cores  float64 `json:"cores,omitempty" yaml:"cores,omitempty"`
	Memory Size    `json:"memory,omitempty" yaml:"memory,omitempty"`
	// Router and Config are the limits of the hosts of routers (or gateways) and of config servers; absent, those above.
	Router *HostLimits `json:"router,omitempty" yaml:"router,omitempty"`
	Config *HostLimits `json:"config,omitempty" yaml:"config,omitempty"`
	// Network is the bandwidth of each host's link in bytes per second; absent, unlimited. Isolated hosts only.
	Network Size `json:"network,omitempty" yaml:"network,omitempty"`
}

// HostLimits are what the hosts of one role may use.
type HostLimits struct {
	Cores  float64 `json:"cores,omitempty" yaml:"cores,omitempty"`
	Memory Size    `json:"memory,omitempty" yaml:"memory,omitempty"`
}

// Storage is a storage policy: what vSAN calls stripe width, failures to tolerate and checksum.
type Storage struct {
	// Size is the usable size of each member's volume; absent, a directory without a limit of its own.
	Size Size `json:"size,omitempty" yaml:"size,omitempty"`
	// Dir is where disks and directories are kept; absent, the lab's own directory. It decides which real disk is used.
	Dir string `json:"dir,omitempty" yaml:"dir,omitempty"`
	// Backend is what combines disks: "auto" chooses one that can do the policy, "directory" is none at all, "disk" one
	// disk, "btrfs" its profiles, "md" and "lvm" the kernel's RAID where it has them.
	Backend string `json:"backend,omitempty" yaml:"backend,omitempty" jsonschema:"enum=auto,enum=directory,enum=disk,enum=btrfs,enum=md,enum=lvm"`
	// Stripe is over how many disks each copy is spread, 1 if absent.
	Stripe Count `json:"stripe,omitempty" yaml:"stripe,omitempty"`
	// StripeSize is how much goes to one disk before the next; absent, the backend's own. md and lvm only.
	StripeSize Size `json:"stripe_size,omitempty" yaml:"stripe_size,omitempty"`
	// Tolerate is how many disks of a volume may fail without loss.
	Tolerate Count `json:"tolerate,omitempty" yaml:"tolerate,omitempty"`
	// Redundancy is how: "mirror" (whole copies) or "parity" (RAID 5 or 6).
	Redundancy string `json:"redundancy,omitempty" yaml:"redundancy,omitempty" jsonschema:"enum=mirror,enum=parity"`
	// Checksum verifies data on reading; absent, as the backend has it.
	Checksum *bool `json:"checksum,omitempty" yaml:"checksum,omitempty"`
	// Filesystem stands on the volume: "xfs", "ext4" or "btrfs"; absent, the backend's own choice.
	Filesystem string `json:"filesystem,omitempty" yaml:"filesystem,omitempty" jsonschema:"enum=xfs,enum=ext4,enum=btrfs"`
	// Device makes every disk behave like a class of device by its name, such as hdd-7200, sata-ssd or nvme; absent, as
	// fast as the real disk below.
	Device string `json:"device,omitempty" yaml:"device,omitempty"`
	// Cache puts a faster device in front of every disk.
	Cache *CacheTier `json:"cache,omitempty" yaml:"cache,omitempty"`
	// Faults puts the disks on plimsoll's own fault filesystem, so that they can lie, tear, hang and lose power; it
	// costs some speed. A device class and a cache tier need it and switch it on.
	Faults bool `json:"faults,omitempty" yaml:"faults,omitempty"`
}

// CacheTier is a cache tier in front of every disk.
type CacheTier struct {
	// Device is the class of the faster device.
	Device string `json:"device,omitempty" yaml:"device,omitempty"`
	// Size is how much of one disk it holds.
	Size Size `json:"size,omitempty" yaml:"size,omitempty"`
}

// Engine is the server software of a lab.
type Engine struct {
	// Name is "mongod" or "documentdb"; "none" is hosts and volumes alone, with a volume for each member.
	Name string `json:"name,omitempty" yaml:"name,omitempty" jsonschema:"enum=mongod,enum=documentdb,enum=none"`
	// Version is the release to use; absent, the newest that is installed or on PATH.
	Version string `json:"version,omitempty" yaml:"version,omitempty"`
	// Binary is the mongod to start, with mongos beside it, instead of an installed one.
	Binary string `json:"binary,omitempty" yaml:"binary,omitempty"`
	// Cache is the cache of each member: WiredTiger's, or PostgreSQL's shared_buffers.
	Cache Size `json:"cache,omitempty" yaml:"cache,omitempty"`
	// Connections is how many sessions each gateway may open to documentdb. Absent, it is 64, or fewer if the
	// memory of the hosts does not suffice for them.
	Connections Count `json:"connections,omitempty" yaml:"connections,omitempty"`
	// Parameters are settings of the servers with data by name: setParameter's for mongod, PostgreSQL's for documentdb.
	Parameters map[string]string `json:"parameters,omitempty" yaml:"parameters,omitempty"`
	// Args are further arguments of each mongod with data.
	Args []string `json:"args,omitempty" yaml:"args,omitempty"`
	// ConfigServer, Arbiter and Router are parameters and arguments of the servers without data of users.
	ConfigServer *Server `json:"config,omitempty" yaml:"config,omitempty"`
	Arbiter      *Server `json:"arbiter,omitempty" yaml:"arbiter,omitempty"`
	Router       *Server `json:"router,omitempty" yaml:"router,omitempty"`
	// Authentication makes clients give a user and a password, and members a key; all are made for each lab.
	Authentication bool `json:"authentication,omitempty" yaml:"authentication,omitempty"`
	// TLS makes servers accept TLS only, with certificates that are made for each lab.
	TLS bool `json:"tls,omitempty" yaml:"tls,omitempty"`
}

// Server is what is said to the servers of one role.
type Server struct {
	// Parameters are setParameter's, by name.
	Parameters map[string]string `json:"parameters,omitempty" yaml:"parameters,omitempty"`
	// Args are further arguments.
	Args []string `json:"args,omitempty" yaml:"args,omitempty"`
}

// Roles are the parameters and arguments of all roles by their keys below "engine": "" is that of servers with data.
func (e *Engine) Roles() map[string]Server {
	all := map[string]Server{"": {e.Parameters, e.Args}}
	for key, s := range map[string]*Server{"config": e.ConfigServer, "arbiter": e.Arbiter, "router": e.Router} {
		if s != nil {
			all[key] = *s
		}
	}
	return all
}

// Topology is what the servers of a lab form together.
type Topology struct {
	// Kind is "standalone", "replica-set" or "sharded".
	Kind string `json:"kind,omitempty" yaml:"kind,omitempty" jsonschema:"enum=standalone,enum=replica-set,enum=sharded"`
	// Members is how many members with data a replica set, or each shard, has.
	Members Count `json:"members,omitempty" yaml:"members,omitempty"`
	// Acknowledge is how many members have a write before it is acknowledged at the levels above one member, the primary
	// included: documentdb waits for that number in all sessions alike. Absent, a majority. It cannot be fewer. Where each
	// write says for how many it waits (w of mongod), it changes nothing.
	Acknowledge Count `json:"acknowledge,omitempty" yaml:"acknowledge,omitempty"`
	// Arbiter adds a member without data to each set.
	Arbiter bool `json:"arbiter,omitempty" yaml:"arbiter,omitempty"`
	// Priorities are those of the members, in order; absent, 1 for each.
	Priorities []float64 `json:"priorities,omitempty" yaml:"priorities,omitempty"`
	// Election is "elect-default" (the own times of MongoDB, or of Patroni with documentdb) or "elect-fast" (for short
	// drills); Settings override it.
	Election string `json:"election,omitempty" yaml:"election,omitempty" jsonschema:"enum=elect-default,enum=elect-fast"`
	// Settings are those of the replica set by their names in MongoDB: electionTimeoutMillis, heartbeatIntervalMillis, …;
	// with documentdb those of Patroni: ttl, loop_wait, retry_timeout, failsafe_mode, …
	Settings map[string]string `json:"settings,omitempty" yaml:"settings,omitempty"`
	// Shards, ConfigServers and Routers are those of a sharded cluster.
	Shards        Count `json:"shards,omitempty" yaml:"shards,omitempty"`
	ConfigServers Count `json:"config_servers,omitempty" yaml:"config_servers,omitempty"`
	Routers       Count `json:"routers,omitempty" yaml:"routers,omitempty"`
	// Collection is what is sharded.
	Collection *Collection `json:"collection,omitempty" yaml:"collection,omitempty"`
}

// Collection is a collection that is sharded before anything is loaded.
type Collection struct {
	// Namespace is DATABASE.COLLECTION; absent, the one of the workload ycsb.
	Namespace string `json:"namespace,omitempty" yaml:"namespace,omitempty"`
	// Key is the field that decides about the shard, _id if absent.
	Key string `json:"key,omitempty" yaml:"key,omitempty"`
	// Sharding is "hashed" or "ranged".
	Sharding string `json:"sharding,omitempty" yaml:"sharding,omitempty" jsonschema:"enum=hashed,enum=ranged"`
	// Chunks is into how many chunks it is split before anything is loaded; absent, two for each shard.
	Chunks Count `json:"chunks,omitempty" yaml:"chunks,omitempty"`
	// SplitAt are the borders of a ranged collection; absent, those of YCSB's keys.
	SplitAt []string `json:"split_at,omitempty" yaml:"split_at,omitempty"`
}

// Availability says what the supervisor does about failures.
type Availability struct {
	// Restart starts the members of a dead host on another one, with their volumes, as vSphere HA and Kubernetes do.
	Restart bool `json:"restart,omitempty" yaml:"restart,omitempty"`
	// RestartAfter is how long a host is dead before that.
	RestartAfter Duration `json:"restart_after,omitempty" yaml:"restart_after,omitempty"`
}

// labScheme is how a target begins that is a lab.
const labScheme = "lab:"

// LabTarget is the target that a lab is.
func LabTarget(name string) string { return labScheme + name }

// LabOf returns the name of the lab that a target is, and false if it is something else.
func LabOf(target string) (name string, ok bool) { return strings.CutPrefix(target, labScheme) }
