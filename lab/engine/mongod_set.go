package engine

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/server"
)

// singleSet is the name of the replica set of a single mongod.
const singleSet = "rs0"

// smallOplog is the oplog of temporary data in MB, the minimum of mongod's defaults. The default is 5 % of the free
// disk.
const smallOplog = 990

// MongoDB's error codes.
const (
	codeUnauthorized       = 13
	codeAlreadyInitialized = 23
)

// access has the address and the credentials of a mongod.
type access struct {
	address  string // host:port
	set      string // empty for a standalone
	user     string // empty without access control
	password string
	key      string // of the members
	caFile   string // empty without TLS
}

func (a access) uri() string {
	u := url.URL{Scheme: "mongodb", Host: a.address, Path: "/"}
	var query []string
	if a.set != "" {
		query = append(query, "replicaSet="+a.set)
	}
	if a.user != "" {
		u.User = url.UserPassword(a.user, a.password)
		query = append(query, "authSource=admin")
	}
	if a.caFile != "" {
		query = append(query, "tls=true", "tlsCAFile="+escapeOption(a.caFile))
	}
	u.RawQuery = strings.Join(query, "&")
	return u.String()
}

// args returns mongod's arguments for access control and TLS.
func (a access) args(keyFile, certificate string) []string {
	var args []string
	if a.set != "" {
		args = append(args, "--replSet", a.set)
	}
	if a.key != "" {
		args = append(args, "--keyFile", keyFile)
	}
	if a.caFile != "" {
		args = append(args, tlsArgs(a.caFile, certificate)...)
	}
	return args
}

// prepare makes the secrets of a start in the server's directory, and returns the arguments for them.
func (s *mongodServer) prepare(opts StartOptions) ([]string, error) {
	s.access = access{address: net.JoinHostPort("127.0.0.1", strconv.Itoa(opts.Port)), user: opts.User, password: opts.Password}
	if !opts.Standalone {
		s.access.set = singleSet
	}
	dir := filepath.Join(s.book.dir, "tls")
	keyFile := filepath.Join(s.book.dir, "key")
	if opts.User != "" {
		key := make([]byte, 96)
		rand.Read(key) // never fails: crypto/rand ends the program instead
		s.access.key = base64.StdEncoding.EncodeToString(key)
		if err := os.WriteFile(keyFile, []byte(s.access.key), 0o600); err != nil {
			return nil, fmt.Errorf("cannot write the key of the server: %w", err)
		}
	}
	if opts.TLS {
		if err := WriteCertificates(dir, map[string]string{"localhost": "127.0.0.1"}); err != nil {
			return nil, err
		}
		s.access.caFile = CAFile(dir)
	}
	args := s.access.args(keyFile, hostCertificate(dir, "localhost"))
	// Since 5.0 a member runs for 15 s after SIGTERM, so that clients can move to other members; here are none.
	const quiesce = "shutdownTimeoutMillisForSignaledShutdown"
	if v, err := ParseMongoVersion(s.version); err == nil && v.AtLeast(5, 0) && s.access.set != "" &&
		opts.Parameters[quiesce] == "" {
		args = append(args, "--setParameter", quiesce+"=100")
	}
	return args, nil
}

// mongodUser is the user of a command.
type mongodUser int

const (
	asNobody mongodUser = iota
	asClient            // the user of the clients
	// asMember is the internal user of members, with the key as password. It is needed on data with users, for which
	// there is no localhost exception.
	asMember
)

// command runs a command on the database admin of this server.
func (s *mongodServer) command(ctx context.Context, as mongodUser, command bson.D, reply any) error {
	a := s.access
	o := options.Client().SetHosts([]string{a.address}).SetDirect(true).SetMaxPoolSize(1).SetAppName("plimsoll engine").
		SetServerSelectionTimeout(2 * time.Second).SetConnectTimeout(2 * time.Second).SetRetryReads(false).SetRetryWrites(
		false)
	switch {
	case as == asClient && a.user != "":
		o.SetAuth(options.Credential{AuthMechanism: "SCRAM-SHA-256", AuthSource: "admin", Username: a.user, Password: a.password})
	case as == asMember && a.key != "":
		o.SetAuth(options.Credential{AuthMechanism: "SCRAM-SHA-256", AuthSource: "local", Username: "__system", Password: a.key})
	}
	if a.caFile != "" {
		config, err := trust(a.caFile, "127.0.0.1")
		if err != nil {
			return err
		}
		o.SetTLSConfig(config)
	}
	c, err := mongo.Connect(o)
	if err != nil {
		return err
	}
	defer disconnect(c)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	result := c.Database("admin").RunCommand(ctx, command)
	if reply == nil {
		reply = &bson.Raw{}
	}
	if err := result.Decode(reply); err != nil {
		return fmt.Errorf("%s: %w", command[0].Key, err)
	}
	return nil
}

func (s *mongodServer) commander(as mongodUser) server.Commander {
	return commander(func(ctx context.Context, _ string, command bson.D, reply any) error {
		return s.command(ctx, as, command, reply)
	})
}

func mongoCode(err error) int32 {
	var refused mongo.CommandError
	if errors.As(err, &refused) {
		return refused.Code
	}
	return 0
}

// form initiates the set and creates the user, as far as the data do not have them, and returns when the server accepts
// writes.
func (s *mongodServer) form(ctx context.Context) error {
	return retry(ctx, s.ended, s.formOnce)
}

// formOnce does the next step. It returns nil when all steps are done.
func (s *mongodServer) formOnce(ctx context.Context) error {
	v, _ := ParseMongoVersion(s.version) // AskHello tries both commands for an unknown version
	h, err := server.QueryHello(ctx, s.commander(asNobody), v)
	switch {
	case err != nil:
		return err
	case h.Writable && s.access.user != "":
		return s.makeUser(ctx)
	case h.Writable:
		return nil
	case h.SetName == "" && h.Ghost:
		return s.initiate(ctx)
	}
	return fmt.Errorf("it is %s", h.Words())
}

// initiate initiates a set of one member, or sets the current port in the set of an earlier start.
func (s *mongodServer) initiate(ctx context.Context) error {
	member := bson.D{{Key: "_id", Value: 0}, {Key: "host", Value: s.access.address}}
	config := bson.D{{Key: "_id", Value: s.access.set}, {Key: "members", Value: bson.A{member}}}
	err := s.command(ctx, asNobody, bson.D{{Key: "replSetInitiate", Value: config}}, nil)
	if code := mongoCode(err); code != codeAlreadyInitialized && code != codeUnauthorized {
		if err == nil {
			err = errors.New("its replica set was just initiated")
		}
		return err
	}
	c, err := server.QueryOwnConfig(ctx, s.commander(asMember))
	if err != nil {
		return err
	}
	if c.Name != s.access.set || len(c.Members) != 1 || !strings.HasPrefix(c.Members[0].Host, "127.0.0.1:") {
		return &finalError{fmt.Errorf("the data in %s belong to the replica set %s of another deployment; use --standalone, "+
			"or another directory", s.DataDir(), c.Name)}
	}
	if c.Members[0].Host == s.access.address {
		return errors.New("it has not loaded the configuration of its replica set yet")
	}
	config = append(config, bson.E{Key: "version", Value: c.Version + 1})
	err = s.command(ctx, asMember, bson.D{{Key: "replSetReconfig", Value: config}, {Key: "force", Value: true}}, nil)
	if err == nil {
		err = errors.New("its replica set was just reconfigured with its port")
	}
	return err
}

// makeUser creates the user or sets its password. The first user of a server is created through the localhost exception
// (manual: "Localhost Exception in Self-Managed Deployments").
func (s *mongodServer) makeUser(ctx context.Context) error {
	known := bson.D{{Key: "connectionStatus", Value: 1}}
	if s.command(ctx, asClient, known, nil) == nil {
		return nil
	}
	fields := bson.D{{Key: "pwd", Value: s.access.password}, {Key: "roles", Value: bson.A{"root"}}}
	create := append(bson.D{{Key: "createUser", Value: s.access.user}}, fields...)
	err := s.command(ctx, asNobody, create, nil)
	if mongoCode(err) == codeUnauthorized { // the data have users of earlier starts
		if err = s.command(ctx, asMember, append(bson.D{{Key: "updateUser", Value: s.access.user}}, fields...), nil); err != nil {
			err = s.command(ctx, asMember, create, nil)
		}
	}
	if err != nil {
		return err
	}
	return s.command(ctx, asClient, known, nil)
}
