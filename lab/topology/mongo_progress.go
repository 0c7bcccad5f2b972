package topology

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/server"
)

// progressFields are the fields of initialSyncStatus that grow while data are copied (manual: "replSetGetStatus").
var progressFields = []string{"appliedOps", "approxTotalBytesCopied", "bytesToCopy", "clonedCollections",
	"databasesCloned", "documentsCopied", "fetchedBatches", "failedInitialSyncAttempts", "indexes", "receivedBatches"}

// progressSum adds the numbers of the progressFields, at any depth.
func progressSum(doc bson.Raw) (total int64) {
	elements, _ := doc.Elements() // unreadable fields are no progress
	for _, e := range elements {
		if inner, ok := e.Value().DocumentOK(); ok {
			total += progressSum(inner)
		} else if n, ok := e.Value().AsInt64OK(); ok && slices.Contains(progressFields, e.Key()) {
			total += n
		}
	}
	return total
}

// progress returns a figure that changes as long as a member copies or applies data. It includes the sizes of its
// files: before a member with access control has copied the users, nothing else is readable.
func progress(ctx context.Context, n *engine.MongoNode) (figure uint64, copying bool) {
	s, err := server.QuerySet(ctx, n.Commander(engine.AsUser))
	if err != nil {
		s, _ = server.QuerySet(ctx, n.Commander(engine.AsLocal)) // it may not have any user yet
	}
	h := fnv.New64a()
	fmt.Fprint(h, s.State, progressSum(s.Copying))
	for _, m := range s.Members {
		if m.Self {
			fmt.Fprint(h, m.Optime)
		}
	}
	files, _ := filepath.Glob(filepath.Join(n.DataDir(), "*.wt"))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			fmt.Fprint(h, file, info.Size())
		}
	}
	return h.Sum64(), s.State == server.Startup2
}

// whileProgressing calls do with a ctx that ends when a member has made no progress for c.patience. A fixed limit is
// impossible, because the duration depends on the amount of data to copy.
func (c *mongoCluster) whileProgressing(ctx context.Context, n *engine.MongoNode,
	do func(context.Context) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		reported := false
		for last, since := uint64(0), time.Now(); ctx.Err() == nil; {
			one, cancel := context.WithTimeout(ctx, commandTimeout)
			now, copying := progress(one, n)
			cancel()
			if now != last {
				last, since = now, time.Now()
			}
			if copying && !reported {
				reported = true
				c.event("progress", map[string]string{"member": n.Name()},
					"%s copies all data from another member (initial sync)", n.Name())
			}
			if time.Since(since) > c.patience {
				end(fmt.Errorf("no progress for %v", c.patience))
			}
			_ = wait.Sleep(ctx, min(time.Second, c.patience/4))
		}
	}()
	return do(ctx)
}
