package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// CheckReply returns the error in the reply to a command as a [*ServerError]: the command was refused, one of its
// writes failed, or its write concern was not met. It returns nil for a success.
func CheckReply(reply []byte) error {
	raw := bson.Raw(reply)
	if err := server.Valid(raw); err != nil {
		return fmt.Errorf("the server's reply is not a BSON document: %w", err)
	}
	if ok := server.Flag(raw, "ok"); ok == nil || !*ok {
		return serverError(raw)
	}
	if d, ok := raw.Lookup("writeConcernError").DocumentOK(); ok {
		return serverError(d)
	}
	if list, ok := raw.Lookup("writeErrors").ArrayOK(); ok {
		if values, err := list.Values(); err == nil && len(values) > 0 {
			if d, ok := values[0].DocumentOK(); ok {
				return serverError(d)
			}
		}
	}
	return nil
}

func serverError(d bson.Raw) *ServerError {
	code, _ := server.Number(d, "code")
	return &ServerError{
		Code: int32(code), CodeName: server.Text(d, "codeName"), Message: server.Text(d, "errmsg"),
		Labels: server.Texts(d, "errorLabels"),
	}
}

// EnsureIndexes creates the indexes that do not exist yet, one command per index.
func EnsureIndexes(ctx context.Context, c server.Commander, db string, indexes []workload.Index) error {
	for _, ix := range indexes {
		index := bsoncore.AppendDocumentElement(nil, "key", ix.Keys)
		index = append(bsoncore.AppendStringElement(index, "name", ix.Name), ix.Options...)
		_, err := server.QueryDB(ctx, c, db, bson.D{
			{Key: "createIndexes", Value: ix.Collection},
			{Key: "indexes", Value: bson.A{bson.Raw(bsoncore.BuildDocument(nil, index))}},
		})
		if err != nil {
			return fmt.Errorf("create index %s on %s.%s: %w", ix.Name, db, ix.Collection, err)
		}
	}
	return nil
}

// namespaceExists is the code of a server that has a collection of that name with other options.
const namespaceExists = 48

// Create makes views, and collections that a server does not make by itself. What exists must be of the same kind.
func Create(ctx context.Context, c server.Commander, db string, creations []workload.Creation) error {
	for _, made := range creations {
		cmd := bson.D{{Key: "create", Value: made.Collection}}
		options, err := bson.Raw(bsoncore.BuildDocument(nil, made.Options)).Elements()
		if err != nil {
			return err
		}
		for _, o := range options {
			cmd = append(cmd, bson.E{Key: o.Key(), Value: o.Value()})
		}
		_, err = server.QueryDB(ctx, c, db, cmd)
		var refused *ServerError
		if errors.As(err, &refused) && refused.Code == namespaceExists {
			err = sameKind(ctx, c, db, made)
		}
		if err != nil {
			return fmt.Errorf("create %s.%s: %w", db, made.Collection, err)
		}
	}
	return nil
}

// sameKind checks that a collection that exists has the options of a wanted one. Numbers may differ, because servers
// round them.
func sameKind(ctx context.Context, c server.Commander, db string, want workload.Creation) error {
	reply, err := server.QueryDB(ctx, c, db, bson.D{{Key: "listCollections", Value: 1},
		{Key: "filter", Value: bson.D{{Key: "name", Value: want.Collection}}}})
	if err != nil {
		return err
	}
	have, _ := reply.Lookup("cursor", "firstBatch", "0", "options").DocumentOK()
	options, err := bson.Raw(bsoncore.BuildDocument(nil, want.Options)).Elements()
	if err != nil {
		return err
	}
	for _, o := range options {
		v, err := have.LookupErr(o.Key())
		_, number := o.Value().AsInt64OK()
		defaults := o.Key() == "timeseries" || o.Key() == "collation" // the server adds them
		if err == nil && (number || defaults || v.Equal(o.Value())) {
			continue
		}
		return fmt.Errorf("it exists with another %s. Drop it (--load drop), or load into another database (--database)", o.Key())
	}
	return nil
}

// CountDocuments counts the documents of a collection by an aggregation over all of them. A collection that does not
// exist has none.
func CountDocuments(ctx context.Context, c server.Commander, db, collection string) (int64, error) {
	reply, err := server.QueryDB(ctx, c, db, bson.D{
		{Key: "aggregate", Value: collection},
		{Key: "pipeline", Value: bson.A{
			bson.D{{Key: "$match", Value: bson.D{}}},
			bson.D{{Key: "$group", Value: bson.D{
				{Key: "_id", Value: 1}, {Key: "n", Value: bson.D{{Key: "$sum", Value: 1}}},
			}}},
		}},
		{Key: "cursor", Value: bson.D{}},
	})
	if isMissing(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("count the documents of %s.%s: %w", db, collection, err)
	}
	batch, ok := reply.Lookup("cursor", "firstBatch").ArrayOK()
	if !ok {
		return 0, fmt.Errorf("count the documents of %s.%s: the reply has no cursor.firstBatch", db, collection)
	}
	groups, err := batch.Values()
	if err != nil || len(groups) == 0 {
		return 0, err
	}
	group, _ := groups[0].DocumentOK()
	n, ok := server.Number(group, "n")
	if !ok {
		return 0, fmt.Errorf("count the documents of %s.%s: the reply has no number n", db, collection)
	}
	return int64(n), nil
}

// DropCollection removes a collection. A collection that does not exist is not an error.
func DropCollection(ctx context.Context, c server.Commander, db, collection string) error {
	_, err := server.QueryDB(ctx, c, db, bson.D{{Key: "drop", Value: collection}})
	if err != nil && !isMissing(err) {
		return fmt.Errorf("drop %s.%s: %w", db, collection, err)
	}
	return nil
}

func isMissing(err error) bool {
	var e *ServerError
	return errors.As(err, &e) && (e.Code == 26 || strings.Contains(e.Message, "ns not found"))
}
