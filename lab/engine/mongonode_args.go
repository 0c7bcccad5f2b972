package engine

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The roles of a mongod or mongos in a lab.
const (
	MongoStandalone = "standalone"
	MongoMember     = "member" // of a replica set
	MongoShard      = "shard"  // of a replica set that is a shard
	MongoArbiter    = "arbiter"
	MongoConfig     = "config"
	MongoRouter     = "router" // mongos
)

// The bounds that WiredTiger has for its cache, in bytes.
const (
	MinMongoCache     = 256 << 20
	maxMongoCache     = 10000 << 30
	helperMongoCache  = MinMongoCache // of arbiters and config servers, which hold next to nothing
	bytesPerGiB       = 1 << 30
	longestSocketPath = 107 // bytes; the kernel's limit on Linux
)

// MongoCache is the cache that MongoDB gives itself on a machine with that much memory: half of what is left after
// 1 GiB, and 256 MiB at least (manual: "WiredTiger Storage Engine", memory use). mongod knows the limit of a control
// group only in newer releases, so a lab says it. sharing is how many servers with data stand on that machine.
func MongoCache(memory int64, sharing int) int64 {
	own := memory / int64(max(1, sharing))
	return max(MinMongoCache, (own-bytesPerGiB)/2)
}

// ownArgs are set for every server by the lab itself, with what to write instead.
var ownArgs = map[string]string{
	"dbpath": "storage.dir", "port": "nothing: ports are found", "bind_ip": "nothing: servers listen on their host's address",
	"bind_ip_all": "nothing: servers listen on their host's address", "logpath": "nothing: 'plimsoll lab logs' shows the logs",
	"logappend": "nothing: logs are appended to", "replSet": "topology.kind", "shardsvr": "topology.kind: sharded",
	"configsvr": "topology.config_servers", "configdb": "topology.config_servers", "keyFile": "engine.authentication",
	"auth": "engine.authentication", "noauth": "engine.authentication", "wiredTigerCacheSizeGB": "engine.cache",
	"wiredTigerCacheSizePct": "engine.cache", "setParameter": "engine.parameters", "fork": "nothing: servers end with the lab",
	"config": "engine.args and engine.parameters", "f": "engine.args and engine.parameters", "unixSocketPrefix": "nothing: unix sockets are off",
	"nounixsocket": "nothing: unix sockets are off", "syslog": "nothing: 'plimsoll lab logs' shows the logs", "shutdown": "'plimsoll lab down'",
	"tlsMode": "engine.tls", "sslMode": "engine.tls", "tlsCertificateKeyFile": "engine.tls", "sslPEMKeyFile": "engine.tls", "tlsCAFile": "engine.tls",
	"sslCAFile": "engine.tls", "version": "nothing: 'plimsoll lab status' says it", "help": "nothing", "pidfilepath": "nothing: 'plimsoll lab status' says it",
}

// goneArg is an argument that a release took away, or that a kind of server never had.
type goneArg struct {
	major, minor int // gone since; 0 for always
	members      bool
	why          string
}

var goneArgs = map[string]goneArg{
	"journal":                   {6, 1, false, "journaling is always on since 6.1 (release notes of 6.1)"},
	"nojournal":                 {6, 1, true, "journaling cannot be switched off since 6.1, nor for members of replica sets since 4.0"},
	"serviceExecutor":           {6, 1, false, "it was removed in 6.1"},
	"cpu":                       {6, 1, false, "it was removed in 6.1"},
	"master":                    {4, 0, false, "master-slave replication was removed in 4.0; use topology.kind: replica-set"},
	"slave":                     {4, 0, false, "master-slave replication was removed in 4.0; use topology.kind: replica-set"},
	"nssize":                    {4, 2, false, "it belonged to MMAPv1, which was removed in 4.2"},
	"smallfiles":                {4, 2, false, "it belonged to MMAPv1, which was removed in 4.2"},
	"enableFreeMonitoring":      {7, 0, false, "free monitoring was removed in 7.0"},
	"freeMonitoringTag":         {7, 0, false, "free monitoring was removed in 7.0"},
	"transitionToAuth":          {0, 0, false, "a lab is made with or without engine.authentication"},
	"oplogMinRetentionHours":    {},
	"enableMajorityReadConcern": {},
}

// CheckMongodArgs refuses arguments for mongod that the lab sets itself or that the release does not have. key is where
// they stand in the specification, for errors. A version
// that is not known yet skips the second check. members is true where servers form replica sets.
func CheckMongodArgs(key string, args []string, v MongoVersion, members bool) error {
	var errs []error
	for i, arg := range args {
		name, ok := strings.CutPrefix(arg, "--")
		if !ok {
			if name, ok = strings.CutPrefix(arg, "-"); !ok {
				continue // the value of the one before
			}
		}
		name, value, joined := strings.Cut(name, "=")
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		errs = append(errs, checkMongodArg(key, name, value, v, members))
	}
	return errors.Join(errs...)
}

func checkMongodArg(key, name, value string, v MongoVersion, members bool) error {
	if instead, ours := ownArgs[name]; ours {
		return fmt.Errorf("%s: --%s is set by the lab; use %s", key, name, instead)
	}
	if name == "enableMajorityReadConcern" && value == "false" && v.AtLeast(5, 0) {
		return fmt.Errorf("%s: --enableMajorityReadConcern is always true since 5.0, and this is %s; leave it out", key, v)
	}
	if name == "storageEngine" && value == "mmapv1" {
		return fmt.Errorf("%s: the storage engine mmapv1 was removed in 4.2; leave --storageEngine out for wiredTiger", key)
	}
	gone, known := goneArgs[name]
	if !known || gone.why == "" {
		return nil
	}
	if gone.major == 0 || gone.members && members || v.Known() && v.AtLeast(gone.major, gone.minor) {
		return fmt.Errorf("%s: --%s is not possible: %s; leave it out", key, name, gone.why)
	}
	return nil
}

// CheckMongoCache refuses a cache that WiredTiger does not take; 0 is its own choice.
func CheckMongoCache(cache int64) error {
	if cache == 0 || cache >= MinMongoCache && cache <= maxMongoCache {
		return nil
	}
	return fmt.Errorf("engine.cache: WiredTiger takes 256MiB to 10000GiB, and not %d bytes", cache)
}

// arguments builds the command line of a node. The process stays in the foreground: forked off, it would outlive the lab.
func (n *MongoNode) arguments() []string {
	args := []string{"--port", strconv.Itoa(n.port), "--bind_ip", n.host.Address(), "--nounixsocket"}
	if n.socket != "" { // whatever other socket a release makes is in the host's directory as well
		args = []string{"--port", strconv.Itoa(n.port), "--bind_ip", n.host.Address() + "," + n.socket, "--unixSocketPrefix", filepath.Dir(n.socket)}
	}
	args = append(args, "--logpath", n.Logs()[0], "--logappend")
	if n.spec.KeyFile != "" {
		args = append(args, "--keyFile", n.spec.KeyFile)
	}
	if n.spec.TLSDir != "" {
		args = append(args, tlsArgs(CAFile(n.spec.TLSDir), hostCertificate(n.spec.TLSDir, n.host.Name()))...)
	}
	if n.spec.Role == MongoRouter {
		return append(append(args, "--configdb", n.spec.ConfigDB), n.wanted()...)
	}
	args = append(args, "--dbpath", n.spec.DataDir)
	if n.spec.Role != MongoStandalone {
		args = append(args, "--replSet", n.spec.Set)
	}
	switch {
	case n.spec.Role == MongoConfig:
		args = append(args, "--configsvr")
	case n.spec.Role == MongoShard || n.spec.Role == MongoArbiter && n.spec.Sharded:
		args = append(args, "--shardsvr")
	}
	if cache := n.cache(); cache > 0 {
		args = append(args, "--wiredTigerCacheSizeGB", strconv.FormatFloat(float64(cache)/bytesPerGiB, 'f', -1, 64))
	}
	if n.spec.Role != MongoArbiter {
		room := RoomOfMongo(n.spec.Volume, n.spec.Role != MongoStandalone, n.spec.Args, n.spec.Parameters)
		args = append(args, room.arguments(n.spec.Args, n.spec.Parameters)...)
	}
	return append(args, n.wanted()...)
}

// wanted are the parameters and arguments that the user gave.
func (n *MongoNode) wanted() []string {
	return append(parameterArgs(n.spec.Parameters), n.spec.Args...)
}

// parameterArgs sets parameters, in order.
func parameterArgs(parameters map[string]string) []string {
	var args []string
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		args = append(args, "--setParameter", name+"="+parameters[name])
	}
	return args
}

// tlsArgs make a mongod or mongos accept TLS only (manual: "Configure mongod and mongos for TLS/SSL"). Clients need no
// certificate of their own: they have a password, or are not asked for one.
func tlsArgs(caFile, certificateKeyFile string) []string {
	return []string{"--tlsMode", "requireTLS", "--tlsCertificateKeyFile", certificateKeyFile, "--tlsCAFile", caFile,
		"--tlsAllowConnectionsWithoutCertificates"}
}

// cache is how much is asked for, 0 for mongod's own choice. A server that was moved has the memory of its new host.
func (n *MongoNode) cache() int64 {
	if n.usesInMemory() {
		return 0
	}
	if n.spec.Role == MongoArbiter || n.spec.Role == MongoConfig {
		return helperMongoCache
	}
	if n.spec.Cache > 0 {
		return n.spec.Cache
	}
	if memory := n.host.Limits().Memory; memory > 0 {
		return MongoCache(memory, n.spec.Sharing)
	}
	return 0
}

// usesInMemory says whether the arguments ask for Percona's or MongoDB Enterprise's engine without WiredTiger's cache.
func (n *MongoNode) usesInMemory() bool {
	return slices.Contains(n.spec.Args, "inMemory") || slices.Contains(n.spec.Args, "--storageEngine=inMemory")
}
