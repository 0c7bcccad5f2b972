package server

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// parameter is a server parameter with an effect on speed or durability.
type parameter struct {
	names  []since // oldest first
	router bool    // only a mongos has it
}

// since is a name and the first series with it.
type since struct {
	major, minor int
	name         string
}

// compatibility is the parameter that an arbiter and a member that starts do not know (error
// UnknownFeatureCompatibilityVersion).
const compatibility = "featureCompatibilityVersion"

// parameters are included in the settings of a server. Since 7.0 mongod logs a warning for each query by an old name.
var parameters = []parameter{
	{names: []since{{0, 0, compatibility}}},
	{names: []since{{0, 0, "journalCommitInterval"}}},
	{names: []since{{0, 0, "logLevel"}}},
	{names: []since{{0, 0, "syncdelay"}}},
	{names: []since{{0, 0, "ttlMonitorEnabled"}}},
	{names: []since{{0, 0, "replWriterThreadCount"}}},
	{names: []since{{0, 0, "wiredTigerEngineRuntimeConfig"}}},
	{names: []since{{4, 2, "enableFlowControl"}}},
	{names: []since{{4, 2, "flowControlTargetLagSeconds"}}},
	{names: concurrent("ReadTransactions")},
	{names: concurrent("WriteTransactions")},
	{names: []since{{7, 0, "storageEngineConcurrencyAdjustmentAlgorithm"},
		{8, 3, "executionControlConcurrencyAdjustmentAlgorithm"}}},
	{names: []since{{0, 0, "ShardingTaskExecutorPoolMinSize"}}, router: true},
	{names: []since{{0, 0, "ShardingTaskExecutorPoolMaxSize"}}, router: true},
}

// concurrent is a limit of concurrent transactions, renamed in 7.0 and in 8.3 (SERVER-113142).
func concurrent(what string) []since {
	return []since{{0, 0, "wiredTigerConcurrent" + what}, {7, 0, "storageEngineConcurrent" + what},
		{8, 3, "executionControlConcurrent" + what}}
}

// name returns the name of the parameter in a release, "" if the release does not have it.
func (p parameter) name(v Version) string {
	name := ""
	for _, n := range p.names {
		if v.AtLeast(n.major, n.minor) {
			name = n.name
		}
	}
	return name
}

// ParameterName returns the name in a release of a parameter, given by its name in any release; "" if the release does
// not have it. Other names are returned unchanged.
func ParameterName(name string, v Version) string {
	for _, p := range parameters {
		for _, n := range p.names {
			if n.name == name {
				return p.name(v)
			}
		}
	}
	return name
}

// Parameters returns the names of the parameters in [Settings] for the server's release.
func Parameters(id Identity) []string {
	if Undescribed(id.Kind) {
		return nil
	}
	var names []string
	for _, p := range parameters {
		if name := p.name(id.Version); name != "" && p.router == (id.Kind == Mongos) {
			names = append(names, name)
		}
	}
	return names
}

// queryParameters queries parameters with one command. The answer does not have parameters that are unknown to the
// server.
func queryParameters(ctx context.Context, c Commander, names ...string) (bson.Raw, error) {
	cmd := bson.D{{Key: "getParameter", Value: 1}}
	for _, name := range names {
		cmd = append(cmd, bson.E{Key: name, Value: 1})
	}
	return Query(ctx, c, cmd)
}
