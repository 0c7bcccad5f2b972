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

	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/server"
)

// copied are the fields of initialSyncStatus that grow while data are copied (manual: "replSetGetStatus").
var progressFields = []string{"appliedOps", "approxTotalBytesCopied", "bytesToCopy", "clonedCollections", "databasesCloned", "documentsCopied",
	"fetchedBatches", "failedInitialSyncAttempts", "indexes", "receivedBatches"}

// sum adds the numbers of the fields in [copied], at any depth.
func progressSum(doc bson.Raw) (total int64) {
	elements, _ := doc.Elements() // what cannot be read is no progress
	for _, e := range elements {
		if inner, ok := e.Value().DocumentOK(); ok {
			total += progressSum(inner)
		} else if n, ok := e.Value().AsInt64OK(); ok && slices.Contains(progressFields, e.Key()) {
			total += n
		}
	}
	return total
}

// progress is a figure that changes as long as a member comes nearer to being one: what it copied and applied, and how large
// its files are, which is all that is known of one with access control before it has copied the users.
func progress(ctx context.Context, n *engine.MongoNode) (figure uint64, copying bool) {
	s, err := server.AskSet(ctx, n.Commander(engine.AsUser))
	if err != nil {
		s, _ = server.AskSet(ctx, n.Commander(engine.AsLocal)) // it may not know any user yet
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

// whileItMoves does something with a context that ends when a member has made no progress for so long. How long a member takes
// is decided by how much it has to copy, so no other limit fits.
func (c *mongoCluster) whileProgressing(ctx context.Context, n *engine.MongoNode, do func(context.Context) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		told := false
		for last, since := uint64(0), time.Now(); ctx.Err() == nil; {
			one, cancel := context.WithTimeout(ctx, commandTimeout)
			now, copying := progress(one, n)
			cancel()
			if now != last {
				last, since = now, time.Now()
			}
			if copying && !told {
				told = true
				c.event("progress", map[string]string{"member": n.Name()}, "%s copies all data from another member (initial sync)", n.Name())
			}
			if time.Since(since) > c.patience {
				end(fmt.Errorf("no progress for %v", c.patience))
			}
			select {
			case <-ctx.Done():
			case <-time.After(min(time.Second, c.patience/4)):
			}
		}
	}()
	return do(ctx)
}
