package store

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/server"
)

// ServerInfo queries the software, topology and settings of a target, and the profiler of a database. A query that
// fails becomes a note.
func ServerInfo(ctx context.Context, c server.Commander, database string) Info {
	id, err := server.Identify(ctx, c)
	info := Info{Kind: id.Kind, Version: id.Version.Text, SetName: id.Hello.SetName, Hosts: id.Hello.Members()}
	info.noteRefused(err)
	if len(id.Hello.Raw) > 0 {
		info.Topology = id.Topology()
	}
	info.Settings, err = server.Settings(ctx, c, id)
	info.noteRefused(err)
	if text := server.Profiler(ctx, c, id, database); text != "" {
		info.Settings["profiler"] = text
	}
	if id.Kind == server.FerretDB {
		info.Version = id.Release
		info.Settings["imitated version"] = id.Version.Text
	} else if id.Vendor != "" && id.Vendor != "MongoDB" {
		info.Settings["distribution"] = id.Vendor + " " + id.Release
	}
	for _, name := range [...]string{"package", "gitVersion", "allocator"} {
		info.set(name, id.Build)
	}
	for _, name := range [...]string{"maxBsonObjectSize", "maxMessageSizeBytes", "maxWriteBatchSize", "maxWireVersion"} {
		info.set(name, id.Hello.Raw)
	}
	return info
}

// noteRefused notes the queries that failed.
func (info *Info) noteRefused(err error) {
	for _, refused := range server.Refused(err) {
		info.Notes = append(info.Notes, refused.What+" could not be read: "+OneLine(refused.Err.Error()))
	}
}

// set keeps a value of a reply as a setting, if the reply has it.
func (info *Info) set(name string, answer bson.Raw) {
	if s := server.Plain(answer, name); s != "" {
		info.Settings[name] = s
	}
}
