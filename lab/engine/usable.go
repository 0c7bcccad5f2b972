package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// probeDatabase is where a starting server is tried; it is dropped afterwards.
const probeDatabase = "plimsoll_ready"

// waitUsable returns when a write and a read of it have succeeded at uri. It gives up when ended is
// closed or ctx is done, with the last refusal in the error.
func waitUsable(ctx context.Context, uri string, ended <-chan struct{}) error {
	if err := waitListening(ctx, uri, ended); err != nil {
		return err
	}
	client, err := connect(uri)
	if err != nil {
		return err
	}
	defer client.Disconnect(context.WithoutCancel(ctx))
	for {
		last := tryOnce(ctx, client)
		if last == nil {
			return nil
		}
		if err := pause(ctx, ended, last); err != nil {
			return err
		}
	}
}

// waitListening returns when something accepts connections at uri. The driver would find out too,
// but asks only twice a second.
func waitListening(ctx context.Context, uri string, ended <-chan struct{}) error {
	u, err := url.Parse(uri)
	if err != nil {
		return err
	}
	for {
		conn, last := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", u.Host)
		if last == nil {
			return conn.Close()
		}
		if err := pause(ctx, ended, last); err != nil {
			return err
		}
	}
}

// errEnded is why waiting for a server is pointless.
var errEnded = errors.New("a process of the server has ended before it was usable")

// pause waits a moment before the next try. It returns an error if trying on is pointless: ended is
// closed or ctx is done. last is why the last try failed.
func pause(ctx context.Context, ended <-chan struct{}, last error) error {
	select {
	case <-ended:
		return fmt.Errorf("%w: %w", errEnded, last)
	case <-ctx.Done():
		return fmt.Errorf("the server is not usable yet (%w): %w", context.Cause(ctx), last)
	case <-time.After(20 * time.Millisecond):
		return nil
	}
}

// connect makes a client with one connection and short time-outs. It does not connect yet.
func connect(uri string) (*mongo.Client, error) {
	return mongo.Connect(options.Client().ApplyURI(uri).SetMaxPoolSize(1).
		SetServerSelectionTimeout(2 * time.Second).SetConnectTimeout(2 * time.Second))
}

// tryOnce writes a document, reads it again and removes what it made.
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

// freePort returns a port on 127.0.0.1 that nothing listens on now. Another program may take it
// before it is used, which then fails to start with a message that says so.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("no free port on 127.0.0.1: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// checkPort refuses a port that cannot be listened on, before anything is started.
func checkPort(port int) error {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return fmt.Errorf("port %d of 127.0.0.1 cannot be used (choose another one): %w", port, err)
	}
	return l.Close()
}

// choosePort checks the port a user asked for, or finds a free one for 0.
func choosePort(port int) (int, error) {
	if port == 0 {
		return freePort()
	}
	if port < 0 || port > 65535 {
		return 0, fmt.Errorf("port %d is not between 1 and 65535", port)
	}
	return port, checkPort(port)
}
