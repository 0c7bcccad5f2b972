package main

import (
	"context"
	"fmt"
	"time"

	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
)

const serverPatience = 10 * time.Second

// queryServer reads the facts that the doctor judges. It sends read-only commands.
func queryServer(ctx context.Context, uri string) (server.Facts, error) {
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	o := options.Client().ApplyURI(uri).SetAppName("plimsoll doctor").SetServerSelectionTimeout(serverPatience)
	client, err := driver.Connect(o)
	if err != nil {
		hint := ""
		if name, ok := spec.LabOf(uri); ok {
			hint = fmt.Sprintf("; 'plimsoll lab connect %s' prints the address of the lab", name)
		}
		return server.Facts{}, usageError("cannot use the address %s: %s%s", store.Redact(uri), store.OneLine(err.Error()), hint)
	}
	defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }()
	facts, err := server.QueryFacts(ctx, server.Driver(client))
	if err != nil {
		return facts, fmt.Errorf("%s does not answer: %s; check host, port, user and password", store.Redact(uri), store.OneLine(err.Error()))
	}
	return facts, nil
}
