package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Facts are the facts of a server and its machine, from its own answers. Empty, 0 and nil are unknown.
type Facts struct {
	Identity
	Backend    string // of a gateway
	Journal    *bool
	Cache      int64 // bytes
	Data       int64 // bytes of all documents and indexes, before compression, without the databases local and config
	FCV        string
	Concerns   Concerns
	WithData   int           // members of the set with data, 0 without a set
	Config     Config        // of the set; empty without one, or if the server refused it
	Members    []MemberFacts // of the set, if they were asked
	DBPath     string
	PID        int64
	Uptime     time.Duration
	PerCPU     *bool // usingPerCPUCaches of its allocator, since 8.0
	Host       HostInfo
	Warnings   []string // of its start
	DataUnread string   // why Data is unknown
	Refused    []string // commands without an answer
}

// HostInfo describes a machine, from its server (hostInfo).
type HostInfo struct {
	Name     string
	OS       string // "Linux"
	Kernel   string
	Memory   int64 // bytes: the limit of the server's container, else of the machine
	Machine  int64 // bytes of the machine
	MaxFiles int64 // soft limit on open files of the server's process
}

// QueryFacts queries all facts of a server. It returns an error only if the server does not answer buildInfo.
func QueryFacts(ctx context.Context, c Commander) (Facts, error) {
	id, err := Identify(ctx, c)
	if id.Build == nil {
		return Facts{}, err
	}
	f := Facts{Identity: id}
	asked := func(cmd bson.D) bson.Raw {
		reply, err := Query(ctx, c, cmd)
		if err != nil {
			f.Refused = append(f.Refused, cmd[0].Key)
		}
		return reply
	}
	plain := func(name string) bson.Raw { return asked(bson.D{{Key: name, Value: 1}}) }
	f.readStatus(plain("serverStatus"))
	if f.Data, err = dataOf(ctx, c); err != nil {
		f.DataUnread = err.Error()
	}
	if Undescribed(id.Kind) {
		return f, nil
	}
	f.readHost(plain("hostInfo"))
	f.Warnings = startupWarnings(asked(bson.D{{Key: "getLog", Value: "startupWarnings"}}))
	f.DBPath = Text(plain("getCmdLineOpts"), "parsed", "storage", "dbPath")
	f.Concerns = QueryConcerns(ctx, c, id)
	f.WithData = len(id.Hello.Data())
	if id.Kind == Mongos {
		return f, nil
	}
	reply, err := queryParameters(ctx, c, "featureCompatibilityVersion")
	if f.FCV = Text(reply, "featureCompatibilityVersion", "version"); err != nil {
		f.Refused = append(f.Refused, "featureCompatibilityVersion")
	}
	if config, err := queryConfig(ctx, c, id); err == nil && config.Data() > 0 { // hidden members are in no hello
		f.WithData, f.Config = config.Data(), config
	}
	return f, nil
}

func (f *Facts) readStatus(s bson.Raw) {
	f.Backend = Backend(s)
	f.Cache = whole(s, "wiredTiger", "cache", "maximum bytes configured")
	if lookup(s, "wiredTiger", "log").Type != 0 {
		on := whole(s, "wiredTiger", "log", "log files manually zero-filled")+
			whole(s, "wiredTiger", "log", "maximum log file size") > 0
		f.Journal = &on
	}
	f.PID = whole(s, "pid")
	f.Uptime = time.Duration(whole(s, "uptimeMillis")) * time.Millisecond
	f.PerCPU = Flag(s, "tcmalloc", "usingPerCPUCaches")
}

func (f *Facts) readHost(r bson.Raw) {
	f.Host = HostInfo{Name: Text(r, "system", "hostname"), OS: Text(r, "os", "type"),
		Kernel: Text(r, "extra", "kernelVersion"), Machine: whole(r, "system", "memSizeMB") << 20, Memory: whole(r, "system", "memLimitMB") << 20,
		MaxFiles: whole(r, "extra", "maxOpenFiles")}
	if host, _, err := net.SplitHostPort(f.Host.Name); err == nil { // the server adds its port
		f.Host.Name = host
	}
	if f.Host.Memory == 0 {
		f.Host.Memory = f.Host.Machine
	}
}

func whole(d bson.Raw, path ...string) int64 {
	x, _ := Number(d, path...)
	return int64(x)
}

// dataOf returns the uncompressed size of all databases, as in the cache. (listDatabases returns compressed sizes, with
// the oplog.) Shards since 8.0 refuse direct queries; a router returns the sizes of all shards.
func dataOf(ctx context.Context, c Commander) (int64, error) {
	reply, err := Query(ctx, c, bson.D{{Key: "listDatabases", Value: 1}, {Key: "nameOnly", Value: true}})
	if err != nil {
		return 0, fmt.Errorf("listDatabases: %w", err)
	}
	const mostDatabases = 200 // one command for each
	total, asked := int64(0), 0
	for _, v := range list(reply, "databases") {
		d, _ := v.DocumentOK()
		name := Text(d, "name")
		if name == "" || name == "local" || name == "config" {
			continue
		}
		if asked++; asked > mostDatabases {
			return 0, fmt.Errorf("there are more than %d databases", mostDatabases)
		}
		stats, err := QueryDB(ctx, c, name, bson.D{{Key: "dbStats", Value: 1}, {Key: "scale", Value: 1}})
		if err != nil {
			return 0, fmt.Errorf("dbStats of %s: %w", name, err)
		}
		total += whole(stats, "dataSize") + whole(stats, "indexSize")
	}
	return total, nil
}

// startupWarnings returns the texts of getLog. Since 4.4 a line is a JSON document.
func startupWarnings(reply bson.Raw) []string {
	var out []string
	for _, line := range Texts(reply, "log") {
		var entry struct {
			Text string `json:"msg"`
		}
		if json.Unmarshal([]byte(line), &entry) != nil || entry.Text == "" {
			continue // decoration, or a part of a warning of an older server
		}
		text := strings.TrimRight(strings.TrimSpace(entry.Text), ".")
		if text != "" && !strings.HasPrefix(text, "**") {
			out = append(out, text)
		}
	}
	return out
}
