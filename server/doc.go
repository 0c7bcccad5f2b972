// Package server queries a mongod, a mongos or a gateway about itself: vendor and version, role and replica set,
// parameters under the names of its release, and default concerns. It also has the dates and known vulnerabilities of
// releases.
//
// It sends only read-only commands, with any client that can run a command. Package run/observe reads a server's
// statistics during a load, store/wire has the handshake of connections, disk/doctor has recommendations, and
// lab/engine installs and starts servers.
package server

import (
	"context"
	"fmt"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Commander runs one command on a server. It returns an error for an answer with ok: 0. The stores of store/wire and
// store/mongo are commanders; [Driver] adapts a client of the official driver, and [CommandFunc] a function.
type Commander interface {
	RunCommand(ctx context.Context, db string, cmd []byte) ([]byte, error)
}

// CommandFunc is a function that runs a command.
type CommandFunc func(ctx context.Context, db string, cmd []byte) ([]byte, error)

func (f CommandFunc) RunCommand(ctx context.Context, db string, cmd []byte) ([]byte, error) {
	return f(ctx, db, cmd)
}

// Driver runs commands with the official driver and the read preference of its client.
func Driver(client *mongo.Client) Commander {
	return CommandFunc(func(ctx context.Context, db string, cmd []byte) ([]byte, error) {
		return client.Database(db).RunCommand(ctx, bson.Raw(cmd)).Raw()
	})
}

// Query sends a command to the database admin. The answer is valid BSON.
func Query(ctx context.Context, c Commander, cmd bson.D) (bson.Raw, error) {
	return QueryDB(ctx, c, "admin", cmd)
}

// QueryDB is [Query] for another database.
func QueryDB(ctx context.Context, c Commander, db string, cmd bson.D) (bson.Raw, error) {
	doc, err := bson.Marshal(cmd)
	if err != nil {
		return nil, err
	}
	reply, err := c.RunCommand(ctx, db, doc)
	if err != nil {
		return nil, err
	}
	if err := Valid(reply); err != nil {
		return nil, fmt.Errorf("the server's answer is not a BSON document: %w", err)
	}
	return reply, nil
}

// query sends a command without arguments.
func query(ctx context.Context, c Commander, name string) (bson.Raw, error) {
	return Query(ctx, c, bson.D{{Key: name, Value: 1}})
}

// lookup returns the value at a path; a missing value has no type.
func lookup(d bson.Raw, path ...string) bson.RawValue {
	v, err := d.LookupErr(path...)
	if err != nil {
		return bson.RawValue{}
	}
	return v
}

// Text returns the text at a path of an answer, "" if there is none.
func Text(d bson.Raw, path ...string) string {
	s, _ := lookup(d, path...).StringValueOK()
	return s
}

// Number returns the number of any type at a path of an answer; false if there is none.
func Number(d bson.Raw, path ...string) (float64, bool) {
	v := lookup(d, path...)
	if x, ok := v.DoubleOK(); ok {
		return x, true
	}
	n, ok := v.AsInt64OK()
	return float64(n), ok
}

// Flag returns the boolean at a path of an answer, nil if there is none.
func Flag(d bson.Raw, path ...string) *bool {
	v := lookup(d, path...)
	if b, ok := v.BooleanOK(); ok {
		return &b
	}
	if n, ok := v.AsInt64OK(); ok {
		b := n != 0
		return &b
	}
	return nil
}

// Texts returns the texts of a list at a path of an answer.
func Texts(d bson.Raw, path ...string) []string {
	var out []string
	for _, v := range list(d, path...) {
		if s, ok := v.StringValueOK(); ok {
			out = append(out, s)
		}
	}
	return out
}

// list returns the values of a list at a path of an answer.
func list(d bson.Raw, path ...string) []bson.RawValue {
	array, ok := lookup(d, path...).ArrayOK()
	if !ok {
		return nil
	}
	values, err := array.Values()
	if err != nil {
		return nil
	}
	return values
}

// Plain returns the scalar at a path of an answer as text, "" if there is none.
func Plain(d bson.Raw, path ...string) string {
	if v := lookup(d, path...); v.Type != 0 {
		return plain(v)
	}
	return ""
}

// plain renders a scalar for a table of settings; documents are rendered as extended JSON.
func plain(v bson.RawValue) string {
	if s, ok := v.StringValueOK(); ok {
		return s
	}
	if b, ok := v.BooleanOK(); ok {
		return strconv.FormatBool(b)
	}
	if f, ok := v.DoubleOK(); ok {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	if n, ok := v.AsInt64OK(); ok {
		return strconv.FormatInt(n, 10)
	}
	return v.String()
}
