// Package server holds what a mongod, a mongos or a gateway says of itself, asked in one place: vendor and version, its
// role and its set, its parameters under the names that its release has for them, the concerns that it applies where
// nobody asks for one, and the dates and known vulnerabilities of releases.
//
// Only read-only commands are sent. What a server's statistics say of it while it is loaded is in run/observe, the
// greeting by which a connection begins in store/wire, how a machine should be set in disk/doctor, how a server is
// installed and started in lab/engine. A client is anything that can run a command.
package server

import (
	"context"
	"fmt"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Commander runs one command on a server. An answer that refuses the command (ok: 0) is returned as an error.
// The stores of store/wire and store/mongo are commanders; [Driver] makes one of the official driver's client, and
// [CommandFunc] of anything else.
type Commander interface {
	RunCommand(ctx context.Context, db string, cmd []byte) ([]byte, error)
}

// CommandFunc is a function that runs a command.
type CommandFunc func(ctx context.Context, db string, cmd []byte) ([]byte, error)

// RunCommand implements [Commander].
func (f CommandFunc) RunCommand(ctx context.Context, db string, cmd []byte) ([]byte, error) {
	return f(ctx, db, cmd)
}

// Driver runs commands by the official driver, with the read preference that its client has.
func Driver(client *mongo.Client) Commander {
	return CommandFunc(func(ctx context.Context, db string, cmd []byte) ([]byte, error) {
		return client.Database(db).RunCommand(ctx, bson.Raw(cmd)).Raw()
	})
}

// Ask sends a command to the database admin. The answer is valid BSON.
func Ask(ctx context.Context, c Commander, cmd bson.D) (bson.Raw, error) {
	return AskOf(ctx, c, "admin", cmd)
}

// AskOf is [Ask] of another database.
func AskOf(ctx context.Context, c Commander, db string, cmd bson.D) (bson.Raw, error) {
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

// ask sends a command that has no arguments.
func ask(ctx context.Context, c Commander, name string) (bson.Raw, error) {
	return Ask(ctx, c, bson.D{{Key: name, Value: 1}})
}

// lookup finds a value; one that is not there has no type.
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

// Number returns the number at a path of an answer, whatever its numeric type is; false if there is none.
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
