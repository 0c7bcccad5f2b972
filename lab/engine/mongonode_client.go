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

	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/server"
)

// commandLimit bounds a command whose caller has no deadline of its own.
const commandLimit = 30 * time.Second

// As is who a command is sent as.
type As int

// Who commands can be sent as.
const (
	// AsUser is the lab's user where there is one, else nobody.
	AsUser As = iota
	// AsNobody does not authenticate.
	AsNobody
	// AsLocal does not authenticate either, and connects in the way for which the localhost exception holds.
	AsLocal
)

// mongoClients keeps one connection for each way to connect, made when it is needed.
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
	cancel() // nothing is in use any more
	_ = client.Disconnect(ctx)
}

// drop forgets a client whose connection is of no use any more.
func (c *mongoClients) drop(as As, client *mongo.Client) {
	c.mu.Lock()
	if c.all[as] == client {
		delete(c.all, as)
	}
	c.mu.Unlock()
	disconnect(client)
}

// client returns the connection for a way to connect.
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
		opts.SetAuth(options.Credential{AuthMechanism: "SCRAM-SHA-256", AuthSource: "admin", Username: n.spec.User, Password: n.spec.Password})
	}
	n.mu.Unlock()
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

// Command runs a command on this very server, whatever its role is, and decodes the answer into reply, which may be
// nil. A connection that failed is given up, and so is one that is not allowed to: it may be from before the server
// knew the user.
func (n *MongoNode) Command(ctx context.Context, as As, db string, command bson.D, reply any) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, commandLimit)
		defer cancel()
	}
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
		return fmt.Errorf("%s to %s was answered with something else than the manual says: %w", command[0].Key, n.spec.Name, err)
	}
	return nil
}

// writeFailed is the failure of a write in an answer that is otherwise fine.
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
		return nil // another command has other fields of these names
	}
	if len(r.WriteErrors) > 0 {
		return fmt.Errorf("the write failed: %s (code %d)", r.WriteErrors[0].Text, r.WriteErrors[0].Code)
	}
	if r.Concern != nil {
		return fmt.Errorf("the write is not confirmed: %s (code %d)", r.Concern.Text, r.Concern.Code)
	}
	return nil
}

// Hello is what a server says of itself to everybody.
type Hello = server.Hello

// Hello asks the server what it is. Nobody needs to authenticate for that.
func (n *MongoNode) Hello(ctx context.Context) (Hello, error) {
	return server.AskHello(ctx, n.Commander(AsNobody), n.Release())
}

// Wait returns when the server answers.
func (n *MongoNode) Wait(ctx context.Context) error {
	ended := n.Ended()
	if ended == nil {
		return fmt.Errorf("%s was not started", n.spec.Name)
	}
	err := waitListening(ctx, "mongodb://"+n.Address(), ended)
	for err == nil {
		one, cancel := context.WithTimeout(ctx, 10*time.Second)
		_, last := n.Hello(one)
		cancel()
		if last == nil {
			return nil
		}
		err = pause(ctx, ended, last)
	}
	return fmt.Errorf("%s at %s: %w%s", n.spec.Name, n.Address(), err, n.LogTail())
}

// LogTail is what the logs say last, for the end of an error: the complaints if there are any. Since 4.4 a line of
// the log is a JSON document (manual: "Log Messages").
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
		said := strings.TrimSpace(entry.Text + " " + string(entry.Attr))
		all = append(all, said)
		if entry.Severity == "E" || entry.Severity == "F" {
			bad = append(bad, said)
		}
	}
	if len(bad) == 0 {
		bad = all
	}
	return "; " + logs[0] + " ends with:" + process.LastLines([]byte(strings.Join(bad, "\n")), 8) + process.LogTail(logs[1])
}

// Rollbacks are the files with what the server gave up because the others had not got it: DBPATH/rollback/… (manual:
// "Rollbacks During Replica Set Failover").
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
		return nil // no such directory: nothing was given up
	})
	return files
}
