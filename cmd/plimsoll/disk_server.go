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

func addressError(uri string, err error) error {
	text := fmt.Sprintf("cannot use the address %s: %s", store.Redact(uri), store.OneLine(err.Error()))
	if name, ok := spec.LabOf(uri); ok {
		text += fmt.Sprintf("; 'plimsoll lab connect %s' prints the address of the lab", name)
	}
	return usageError("%s", text)
}

// queryServer reads the facts that the doctor judges. It sends read-only commands.
func queryServer(ctx context.Context, uri string) (server.Facts, error) {
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	o := options.Client().ApplyURI(uri).SetAppName("plimsoll doctor").SetServerSelectionTimeout(serverPatience)
	client, err := driver.Connect(o)
	if err != nil {
		return server.Facts{}, addressError(uri, err)
	}
	defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }()
	facts, err := server.QueryFacts(ctx, server.Driver(client))
	if err != nil {
		return facts, fmt.Errorf("%s does not answer: %s; check host, port, user and password", store.Redact(uri), store.OneLine(err.Error()))
	}
	return facts, nil
}
