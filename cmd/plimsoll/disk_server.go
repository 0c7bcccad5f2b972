package main

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"github.com/plimsoll-bench/plimsoll/internal/dial"
	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
)

// serverPatience is how long a server is awaited, unless its address says it (serverSelectionTimeoutMS).
const serverPatience = 10 * time.Second

// queryServer reads the facts that the doctor judges. It sends read-only commands.
func queryServer(ctx context.Context, uri string) (server.Facts, error) {
	if err := permit.Check(ctx, permit.Dial, "the server"); err != nil {
		return server.Facts{}, err
	}
	answer, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	o, _, err := dial.Options(uri)
	var client *driver.Client
	if err == nil {
		if o.ServerSelectionTimeout == nil {
			o.SetServerSelectionTimeout(serverPatience)
		}
		client, err = driver.Connect(o.SetAppName("plimsoll doctor"))
	}
	if err != nil {
		hint := ""
		if name, ok := spec.LabOf(uri); ok {
			hint = fmt.Sprintf("; 'plimsoll lab connect %s' prints the address of the lab", name)
		}
		return server.Facts{}, usageError("cannot use the address %s: %s%s", store.Redact(uri), store.OneLine(err.Error()), hint)
	}
	defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }()
	// Any member answers its questions, so a set without a primary is judged too.
	anyone := options.RunCmd().SetReadPreference(readpref.PrimaryPreferred())
	ask := server.CommandFunc(func(ctx context.Context, db string, cmd []byte) ([]byte, error) {
		return client.Database(db).RunCommand(ctx, bson.Raw(cmd), anyone).Raw()
	})
	facts, err := server.QueryFacts(answer, ask)
	if err != nil {
		return facts, fmt.Errorf("%s does not answer: %s; check host, port, user and password", store.Redact(uri), store.OneLine(err.Error()))
	}
	if addresses := setMembers(facts); len(addresses) > 0 {
		facts.Members = server.QueryMembers(ctx, addresses, func(address string) (server.Commander, func(), error) {
			return openMember(uri, address)
		})
	}
	return facts, nil
}

// setMembers returns the addresses of all members of the server's set; hidden ones are in no hello.
func setMembers(facts server.Facts) (addresses []string) {
	if facts.Kind != server.Mongod {
		return nil
	}
	for _, m := range facts.Config.Members {
		addresses = append(addresses, m.Host)
	}
	if len(addresses) == 0 {
		addresses = facts.Hello.Members()
	}
	return addresses
}

// openMember connects to one member with the options of the set's address. It does not log in: arbiters have no users,
// and its questions need no rights.
func openMember(uri, address string) (server.Commander, func(), error) {
	o, _, err := dial.Options(uri)
	if err != nil {
		return nil, nil, err
	}
	if o.ServerSelectionTimeout == nil {
		o.SetServerSelectionTimeout(serverPatience)
	}
	o.SetAppName("plimsoll doctor").SetHosts([]string{address}).SetDirect(true)
	o.Auth, o.ReplicaSet, o.LoadBalanced, o.SRVServiceName = nil, nil, nil, nil
	client, err := driver.Connect(o)
	if err != nil {
		return nil, nil, err
	}
	return server.Driver(client), func() { _ = client.Disconnect(context.Background()) }, nil
}
