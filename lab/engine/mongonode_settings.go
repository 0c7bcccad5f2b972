package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/process"
	"github.com/plimsoll-bench/plimsoll/server"
)

// Settings reads the server's options and parameters, the configuration of its replica set and its default concerns. An
// arbiter has no users and answers every local client.
func (n *MongoNode) Settings(ctx context.Context) (map[string]string, error) {
	as := AsUser
	if n.spec.Role == MongoArbiter && n.spec.KeyFile != "" {
		as = AsLocal
	}
	set, err := readSettings(ctx, n.spec.Name, n.Commander(as))
	if p := n.process(); err == nil && p != nil {
		if files := process.OpenFiles(p.PID); files > 0 {
			set["open files"] = strconv.FormatUint(files, 10)
		}
	}
	return set, err
}

// Commander runs commands on this server.
func (n *MongoNode) Commander(as As) server.Commander {
	return commander(func(ctx context.Context, db string, command bson.D, reply any) error {
		return n.Command(ctx, as, db, command, reply)
	})
}

// commander adapts a function that runs a command and decodes its answer.
func commander(run func(ctx context.Context, db string, command bson.D, reply any) error) server.Commander {
	return server.CommandFunc(func(ctx context.Context, db string, cmd []byte) ([]byte, error) {
		var command bson.D
		if err := bson.Unmarshal(cmd, &command); err != nil {
			return nil, err
		}
		var reply bson.Raw
		err := run(ctx, db, command, &reply)
		return reply, err
	})
}

// readSettings reads the settings of a server. It accepts errors of some queries, because not every release and kind of
// server supports all of them.
func readSettings(ctx context.Context, name string, c server.Commander) (map[string]string, error) {
	ctx, cancel := wait.Bounded(ctx, settingsLimit)
	defer cancel()
	id, err := server.Identify(ctx, c)
	set, refused := server.Settings(ctx, c, id)
	if err = errors.Join(err, refused); len(set) == 0 && err != nil {
		return nil, fmt.Errorf("cannot read the settings of %s: %w", name, err)
	}
	return set, nil
}

// settingsLimit bounds all queries of settings together.
const settingsLimit = time.Minute
