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

// The limits of WiredTiger's cache, in bytes.
const (
	MinMongoCache     = 256 << 20
	maxMongoCache     = 10000 << 30
	helperMongoCache  = MinMongoCache // of arbiters and config servers, which have almost no data
	bytesPerGiB       = 1 << 30
	longestSocketPath = 107 // bytes; the kernel's limit on Linux
)

// MongoCache is MongoDB's default for the cache on a machine with the given memory: half of the memory above 1 GiB, and
// at least 256 MiB (manual: "WiredTiger Storage Engine", memory use). A lab passes it to mongod, because only newer
// releases read the memory limit of a control group. sharing is the number of servers with data on that machine.
func MongoCache(memory int64, sharing int) int64 {
	own := memory / int64(max(1, sharing))
	return max(MinMongoCache, (own-bytesPerGiB)/2)
}

// ownArgs are arguments that the lab sets for every server, with their replacement in the specification.
var ownArgs = map[string]string{
	"dbpath": "storage.dir", "port": "nothing: the lab chooses ports", "bind_ip": "nothing: servers listen on their host's address",
	"bind_ip_all": "nothing: servers listen on their host's address", "logpath": "nothing: 'plimsoll lab logs' shows the logs",
	"logappend": "nothing: the lab sets it", "replSet": "topology.kind", "shardsvr": "topology.kind: sharded",
	"configsvr": "topology.config_servers", "configdb": "topology.config_servers", "keyFile": "engine.authentication",
	"auth": "engine.authentication", "noauth": "engine.authentication", "wiredTigerCacheSizeGB": "engine.cache",
	"wiredTigerCacheSizePct": "engine.cache", "setParameter": "engine.parameters", "fork": "nothing: servers end with the lab",
	"config": "engine.args and engine.parameters", "f": "engine.args and engine.parameters",
	"unixSocketPrefix": "nothing: unix sockets are off", "nounixsocket": "nothing: unix sockets are off",
	"syslog": "nothing: 'plimsoll lab logs' shows the logs", "shutdown": "'plimsoll lab down'",
	"tlsMode": "engine.tls", "sslMode": "engine.tls", "tlsCertificateKeyFile": "engine.tls", "sslPEMKeyFile": "engine.tls",
	"tlsCAFile": "engine.tls", "sslCAFile": "engine.tls", "version": "nothing: 'plimsoll lab status' shows it",
	"help": "nothing", "pidfilepath": "nothing: 'plimsoll lab status' shows it",
}

// CheckMongodArgs refuses arguments for mongod that the lab sets itself. [TryMongo] finds those that the release does
// not have. key is their key in the specification, for errors.
func CheckMongodArgs(key string, args []string) error {
	var errs []error
	for _, arg := range args {
		name, ok := strings.CutPrefix(arg, "--")
		if !ok {
			if name, ok = strings.CutPrefix(arg, "-"); !ok {
				continue // a value
			}
		}
		name, _, _ = strings.Cut(name, "=")
		if instead, ours := ownArgs[name]; ours {
			errs = append(errs, fmt.Errorf("%s: --%s is set by the lab; use %s", key, name, instead))
		}
	}
	return errors.Join(errs...)
}

// CheckMongoCache refuses a cache outside of WiredTiger's limits; 0 is mongod's default.
func CheckMongoCache(cache int64) error {
	if cache == 0 || cache >= MinMongoCache && cache <= maxMongoCache {
		return nil
	}
	return fmt.Errorf("engine.cache: %d bytes is not between 256MiB and 10000GiB, the limits of WiredTiger", cache)
}

// arguments returns the command line of a node. The process stays in the foreground, because a forked one would outlive
// the lab.
func (n *MongoNode) arguments() []string {
	ip, port := n.endpoint()
	args := []string{"--port", strconv.Itoa(port), "--bind_ip", ip, "--nounixsocket"}
	if n.socket != "" { // other sockets of a release are in the host's directory too
		args = []string{"--port", strconv.Itoa(port), "--bind_ip", ip + "," + n.socket,
			"--unixSocketPrefix", filepath.Dir(n.socket)}
	}
	args = append(args, "--logpath", n.Logs()[0], "--logappend")
	if n.spec.KeyFile != "" {
		args = append(args, "--keyFile", n.spec.KeyFile)
	}
	if n.spec.TLSDir != "" {
		args = append(args, tlsArgs(CAFile(n.spec.TLSDir), hostCertificate(n.spec.TLSDir, n.Host().Name()))...)
	}
	if n.spec.Role == MongoRouter {
		return append(append(args, "--configdb", n.spec.ConfigDB), n.userArgs()...)
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
	return append(args, n.userArgs()...)
}

// userArgs returns the parameters and arguments of the user.
func (n *MongoNode) userArgs() []string {
	return append(parameterArgs(n.spec.Parameters), n.spec.Args...)
}

// parameterArgs returns arguments that set parameters, sorted by name.
func parameterArgs(parameters map[string]string) []string {
	var args []string
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		args = append(args, "--setParameter", name+"="+parameters[name])
	}
	return args
}

// tlsArgs make a mongod or mongos accept only TLS (manual: "Configure mongod and mongos for TLS/SSL"). Clients need no
// certificate.
func tlsArgs(caFile, certificateKeyFile string) []string {
	return []string{"--tlsMode", "requireTLS", "--tlsCertificateKeyFile", certificateKeyFile, "--tlsCAFile", caFile,
		"--tlsAllowConnectionsWithoutCertificates"}
}

// cache returns the size of the cache, 0 for mongod's default. It depends on the memory of the current host.
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
	if memory := n.Host().Limits().Memory; memory > 0 {
		return MongoCache(memory, n.spec.Sharing)
	}
	return 0
}

// usesInMemory reports whether the arguments choose the inMemory engine of Percona or MongoDB Enterprise, which has no
// WiredTiger cache.
func (n *MongoNode) usesInMemory() bool {
	return slices.Contains(n.spec.Args, "inMemory") || slices.Contains(n.spec.Args, "--storageEngine=inMemory")
}
