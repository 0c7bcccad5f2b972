package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// probeDatabase is dropped after each test write.
const probeDatabase = "plimsoll_ready"

// waitUsable returns when a write and a read have succeeded at uri. If ended is closed or ctx ends first, the error
// includes the last one.
func waitUsable(ctx context.Context, uri string, ended <-chan struct{}) error {
	if err := waitListening(ctx, uri, ended); err != nil {
		return err
	}
	client, err := connect(uri)
	if err != nil {
		return err
	}
	defer disconnect(client)
	return retry(ctx, ended, func(ctx context.Context) error { return tryOnce(ctx, client) })
}

// waitListening returns when uri accepts connections. The driver would try only twice a second.
func waitListening(ctx context.Context, uri string, ended <-chan struct{}) error {
	u, err := url.Parse(uri)
	if err != nil {
		return err
	}
	return retry(ctx, ended, func(ctx context.Context) error {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", u.Host)
		if err != nil {
			return err
		}
		_ = conn.Close() // it listens, which is all that was asked
		return nil
	})
}

var errEnded = errors.New("a process of the server has ended before the server was usable")

// retry calls try until it succeeds. If ended is closed or ctx ends first, the error includes that of the last try.
func retry(ctx context.Context, ended <-chan struct{}, try func(context.Context) error) error {
	for {
		last := try(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("%w: %w", errEnded, last)
		case <-ctx.Done():
			return fmt.Errorf("the server is not usable yet (%w): %w", context.Cause(ctx), last)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// connect makes a client with one connection and short timeouts. It does not connect yet.
func connect(uri string) (*mongo.Client, error) {
	return mongo.Connect(options.Client().ApplyURI(uri).SetMaxPoolSize(1).
		SetServerSelectionTimeout(2 * time.Second).SetConnectTimeout(2 * time.Second))
}

// tryOnce writes a document, reads it and drops its database.
func tryOnce(ctx context.Context, client *mongo.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	id := bson.NewObjectID()
	db := client.Database(probeDatabase)
	if _, err := db.Collection("probe").InsertOne(ctx, bson.M{"_id": id}); err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	if err := db.Collection("probe").FindOne(ctx, bson.M{"_id": id}).Err(); err != nil {
		return fmt.Errorf("find: %w", err)
	}
	if err := db.Drop(ctx); err != nil {
		return fmt.Errorf("drop: %w", err)
	}
	return nil
}

// The ports of servers are below those that the kernel gives to connections and to programs that listen on any port:
// on a busy machine one of these would take a port between its choice and the start of its server. Labs have others.
const firstPort, lastPort = 10000, 19999

// FreePort returns a free port on 127.0.0.1. If another program uses it first, the server fails to start.
func FreePort() (int, error) {
	const n = lastPort - firstPort + 1
	start := rand.IntN(n)
	for i := range n {
		port := firstPort + (start+i)%n
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("no port between %d and %d is free on 127.0.0.1. Stop a program that listens there", firstPort, lastPort)
}

// CheckPort returns an error if a server on 127.0.0.1 cannot have the port; 0 stands for any.
func CheckPort(port int) error {
	if port < 0 || port > 65535 {
		return fmt.Errorf("port %d is not between 1 and 65535", port)
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return fmt.Errorf("cannot use port %d of 127.0.0.1 (use another one): %w", port, err)
	}
	return l.Close()
}
