package mongo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/store"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// RunCommand sends one command to the primary or a router. It makes the store a [server.Commander].
func (s *Store) RunCommand(ctx context.Context, db string, cmd []byte) ([]byte, error) {
	reply, err := s.clients[0].Database(db).RunCommand(ctx, bson.Raw(cmd)).Raw()
	var ce driver.CommandError
	if errors.As(err, &ce) && ce.Code != 0 {
		return nil, &store.ServerError{Code: ce.Code, CodeName: ce.Name, Message: store.OneLine(ce.Message),
			Labels: ce.Labels}
	}
	if err != nil && reply == nil {
		return nil, errors.New(store.OneLine(err.Error()))
	}
	return reply, store.CheckReply(reply)
}

// Info describes the target and the settings of the driver.
func (s *Store) Info(ctx context.Context) (store.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	info := store.ServerInfo(ctx, s, s.cfg.Database)
	maps.Copy(info.Settings, s.used.text)
	info.Notes = append(info.Notes, s.notes...)
	return info, ctx.Err()
}

// EnsureIndexes creates the indexes that do not exist yet. ctx alone bounds the building of an index over documents.
func (s *Store) EnsureIndexes(ctx context.Context, indexes []workload.Index) error {
	return store.EnsureIndexes(ctx, s, s.cfg.Database, indexes)
}

// Count counts the documents of a collection by reading it. ctx alone bounds it.
func (s *Store) Count(ctx context.Context, collection string) (int64, error) {
	return store.CountDocuments(ctx, s, s.cfg.Database, collection)
}

func (s *Store) Drop(ctx context.Context, collection string) error {
	return store.DropCollection(ctx, s, s.cfg.Database, collection)
}

// verify checks that the target replies and that the user may read the database. Servers reply to a ping of any user.
func (s *Store) verify(ctx context.Context) error {
	db := s.clients[0].Database(s.cfg.Database)
	probe := bson.D{{Key: "find", Value: "plimsoll"}, {Key: "filter", Value: bson.D{}},
		{Key: "limit", Value: 1}, {Key: "singleBatch", Value: true}}
	if err := db.RunCommand(ctx, probe).Err(); err != nil || s.used.acknowledged {
		return err
	}
	id, err := server.QueryBuild(ctx, server.Driver(s.clients[0]))
	if err == nil && server.AnswersUnacknowledged(id.Kind) {
		return errAnswersAll
	}
	return err
}

// errAnswersAll is why w:0 does not work with FerretDB through the driver.
var errAnswersAll = errors.New("FerretDB replies to writes with w:0, and the driver takes these replies for those of later operations")

// explain words a failure of [Store.verify].
func (s *Store) explain(err error) error {
	target := store.Redact(s.cfg.Target)
	var ce driver.CommandError
	var selection topology.ServerSelectionError
	switch {
	case errors.Is(err, errAnswersAll):
		return fmt.Errorf("cannot load %s with w:0 through the driver: %w; use w:1, or the client wire, which skips these replies",
			target, err)
	case errors.As(err, &ce) && ce.Code == 13:
		return fmt.Errorf("%s refuses reads of database %s (%s): put a user and password into the address, "+
			"or grant the user readWrite on it", target, s.cfg.Database, store.OneLine(ce.Message))
	case errors.As(err, &ce) && ce.Code == 18:
		return fmt.Errorf("%s refused the user or password: check both, and authSource (the database of the user)", target)
	case errors.As(err, &selection):
		return fmt.Errorf("%s did not answer within %s: %s; check host, port, firewall, TLS and replicaSet", target,
			s.cfg.Timeout, lastErrors(selection))
	}
	return fmt.Errorf("%s did not answer properly within %s: %s; check that it is a MongoDB server and that it is healthy",
		target, s.cfg.Timeout, store.OneLine(err.Error()))
}

// lastErrors lists the last error of each server of a topology.
func lastErrors(e topology.ServerSelectionError) string {
	var parts []string
	for _, s := range e.Desc.Servers {
		why := "no server of the wanted kind"
		if s.LastError != nil {
			why = store.OneLine(s.LastError.Error())
		}
		parts = append(parts, s.Addr.String()+": "+why)
	}
	if len(parts) == 0 {
		return "no server is known"
	}
	return strings.Join(parts, "; ")
}
