package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/server"
)

// commandLimit bounds a command whose caller has no deadline of its own.
const commandLimit = 30 * time.Second

// As is the user of a command.
type As int

// The users of commands.
const (
	// AsUser is the lab's user in a lab with authentication.
	AsUser As = iota
	// AsNobody does not authenticate.
	AsNobody
	// AsLocal does not authenticate, and connects so that the localhost exception applies.
	AsLocal
	// AsMember is the internal user of members, with the key as password. It is needed on kept data with users, for which
	// there is no localhost exception.
	AsMember
)

// mongoClients has one client for each user, made when it is needed.
type mongoClients struct {
	mu  sync.Mutex
	all map[As]*mongo.Client
}

func (c *mongoClients) close() {
	c.mu.Lock()
	all := c.all
	c.all = nil
	c.mu.Unlock()
	for _, client := range all {
		disconnect(client)
	}
}

// disconnect never waits for a server that does not answer.
func disconnect(client *mongo.Client) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // no connection is in use
	_ = client.Disconnect(ctx)
}

// drop removes and disconnects a client.
func (c *mongoClients) drop(as As, client *mongo.Client) {
	c.mu.Lock()
	if c.all[as] == client {
		delete(c.all, as)
	}
	c.mu.Unlock()
	disconnect(client)
}

// client returns the client of a user.
func (n *MongoNode) client(as As) (*mongo.Client, error) {
	opts := options.Client().SetHosts([]string{n.Address()}).SetDirect(true).SetMaxPoolSize(2).
		SetServerMonitoringMode(options.ServerMonitoringModePoll).SetHeartbeatInterval(time.Minute).
		SetServerSelectionTimeout(3 * time.Second).SetConnectTimeout(3 * time.Second).
		SetRetryReads(false).SetRetryWrites(false).SetAppName("plimsoll lab")
	n.mu.Lock()
	at, dir := n.host.Address(), n.spec.TLSDir
	if as == AsLocal && n.socket != "" {
		opts.SetHosts([]string{n.socket})
	}
	if as == AsUser && n.spec.User != "" {
		opts.SetAuth(options.Credential{AuthMechanism: "SCRAM-SHA-256", AuthSource: "admin",
			Username: n.spec.User, Password: n.spec.Password})
	}
	n.mu.Unlock()
	if as == AsMember && n.spec.KeyFile != "" {
		key, err := os.ReadFile(n.spec.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("cannot read the key of %s: %w", n.spec.Name, err)
		}
		opts.SetAuth(options.Credential{AuthMechanism: "SCRAM-SHA-256", AuthSource: "local", Username: "__system",
			Password: string(key)})
	}
	n.clients.mu.Lock()
	defer n.clients.mu.Unlock()
	if client := n.clients.all[as]; client != nil {
		return client, nil
	}
	if dir != "" {
		config, err := trust(CAFile(dir), at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.spec.Name, err)
		}
		opts.SetTLSConfig(config)
	}
	client, err := mongo.Connect(opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.spec.Name, err)
	}
	if n.clients.all == nil {
		n.clients.all = map[As]*mongo.Client{}
	}
	n.clients.all[as] = client
	return client, nil
}

// Command runs a command on this server and decodes the answer into reply, which may be nil. It drops the client after
// a network error, and after an authorization error because the connection may be older than the user.
func (n *MongoNode) Command(ctx context.Context, as As, db string, command bson.D, reply any) error {
	ctx, cancel := wait.Bounded(ctx, commandLimit)
	defer cancel()
	client, err := n.client(as)
	if err != nil {
		return err
	}
	raw, err := client.Database(db).RunCommand(ctx, command).Raw()
	if err != nil {
		var refused mongo.CommandError
		if !errors.As(err, &refused) || refused.Code == 13 || refused.HasErrorLabel("NetworkError") {
			n.clients.drop(as, client)
		}
		return fmt.Errorf("%s to %s: %w", command[0].Key, n.spec.Name, err)
	}
	if err := writeFailed(raw); err != nil {
		return fmt.Errorf("%s to %s: %w", command[0].Key, n.spec.Name, err)
	}
	if reply == nil {
		return nil
	}
	if err := bson.Unmarshal(raw, reply); err != nil {
		return fmt.Errorf("the answer of %s to %s is not as documented: %w", n.spec.Name, command[0].Key, err)
	}
	return nil
}

// writeFailed returns the error of a write in an answer with ok: 1.
func writeFailed(raw bson.Raw) error {
	var r struct {
		WriteErrors []struct {
			Code int32  `bson:"code"`
			Text string `bson:"errmsg"`
		} `bson:"writeErrors"`
		Concern *struct {
			Code int32  `bson:"code"`
			Text string `bson:"errmsg"`
		} `bson:"writeConcernError"`
	}
	if err := bson.Unmarshal(raw, &r); err != nil {
		return nil // another command with other fields of these names
	}
	if len(r.WriteErrors) > 0 {
		return fmt.Errorf("the write failed: %s (code %d)", r.WriteErrors[0].Text, r.WriteErrors[0].Code)
	}
	if r.Concern != nil {
		return fmt.Errorf("the write concern failed: %s (code %d)", r.Concern.Text, r.Concern.Code)
	}
	return nil
}

// Hello is the answer to the command hello.
type Hello = server.Hello

// Hello runs the command hello, which needs no authentication.
func (n *MongoNode) Hello(ctx context.Context) (Hello, error) {
	return server.QueryHello(ctx, n.Commander(AsNobody), n.Release())
}

func (n *MongoNode) Wait(ctx context.Context) error {
	ended := n.Ended()
	if ended == nil {
		return fmt.Errorf("%s was not started", n.spec.Name)
	}
	err := waitListening(ctx, "mongodb://"+n.Address(), ended)
	if err == nil {
		err = retry(ctx, ended, func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			_, err := n.Hello(ctx)
			return err
		})
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s at %s: %w%s", n.spec.Name, n.Address(), err, n.LogTail())
}

// LogTail returns the last lines of the logs for the end of an error: the errors, or all lines if there are none. Since
// 4.4 a line of the log is a JSON document (manual: "Log Messages").
func (n *MongoNode) LogTail() string {
	logs := n.Logs()
	text, err := os.ReadFile(logs[0])
	if err != nil || len(strings.TrimSpace(string(text))) == 0 {
		return process.LogTail(logs[1])
	}
	text = text[max(0, len(text)-64<<10):]
	var all, bad []string
	for line := range strings.Lines(string(text)) {
		var entry struct {
			Severity string          `json:"s"`
			Text     string          `json:"msg"`
			Attr     json.RawMessage `json:"attr"`
		}
		if json.Unmarshal([]byte(line), &entry) != nil || entry.Text == "" {
			all = append(all, strings.TrimSpace(line))
			continue
		}
		message := strings.TrimSpace(entry.Text + " " + string(entry.Attr))
		all = append(all, message)
		if entry.Severity == "E" || entry.Severity == "F" {
			bad = append(bad, message)
		}
	}
	if len(bad) == 0 {
		bad = all
	}
	return "; " + logs[0] + " ends with:" + process.LastLines([]byte(strings.Join(bad, "\n")), 8) + process.LogTail(logs[1])
}

// Rollbacks returns the files with rolled-back writes: DBPATH/rollback/… (manual: "Rollbacks During Replica Set
// Failover").
func (n *MongoNode) Rollbacks() []string {
	if n.DataDir() == "" {
		return nil
	}
	var files []string
	top := filepath.Join(n.DataDir(), "rollback")
	_ = filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return nil // no such directory: no rollback
	})
	return files
}
