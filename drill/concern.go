package drill

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/store"
)

// writeConcern is what the writes of a round asked for, field by field as clients put it together: the durability of
// the drill wins over the address, and the address over the server's default.
type writeConcern struct {
	w       string // "0", "1", "2", …, "majority" or a tag; "" if nobody knows
	journal *bool  // nil leaves it to the server
	source  string // who said w, as the end of a sentence
	problem string // why w is not known
}

// gateway is the topology of a server that ignores write concerns, and of which the drill asked for none.
const gateway = "gateway"

// askAtMost bounds the questions to the server before a round.
const askAtMost = 10 * time.Second

// concernOf puts the write concern together. target is what the server applies by itself.
func concernOf(asked spec.Durability, uri string, target server.Concerns) writeConcern {
	d := asked.Effective()
	w, journal := concernInURI(uri)
	c := writeConcern{w: d.W, journal: d.Journal, source: "the durability of the drill"}
	if c.journal == nil {
		c.journal = journal
	}
	if c.w == "" {
		c.w, c.source = w, "the URI"
	}
	if c.w != "" {
		return c
	}
	c.w, c.problem = target.W, target.Problem
	switch target.Source {
	case server.Global:
		c.source = "the default that somebody set on the deployment (setDefaultRWConcern)"
	case server.Legacy:
		c.source = "the default in the configuration of the set (getLastErrorDefaults)"
	default:
		c.source = "the server's own default"
	}
	if c.journal == nil && c.w != "" {
		c.journal = target.Journal
	}
	return c
}

// concernInURI reads w and journal of an address. What an address cannot be read for says the load.
func concernInURI(uri string) (w string, journal *bool) {
	a, err := mongouri.Parse(uri)
	if err != nil {
		return "", nil
	}
	w, _ = a.Option("w")
	if value, said := a.Option("journal", "j"); said {
		yes := value == "true"
		journal = &yes
	}
	return w, journal
}

// askTarget asks the deployment who it is, and what it applies where a client asks for no write concern.
func (r *round) askTarget(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askAtMost)
	defer cancel()
	commander, closeIt, err := r.commander()
	if err != nil {
		r.concerns.Problem = store.Redact(store.OneLine(err.Error()))
		return
	}
	defer closeIt()
	if r.identity, err = server.Identify(ctx, commander); err != nil {
		r.concerns.Problem = store.Redact(store.OneLine(err.Error()))
		return
	}
	r.concerns = server.AskConcerns(ctx, commander, r.identity)
	r.concerns.Problem = store.Redact(store.OneLine(r.concerns.Problem))
}

// concern is the write concern of the round.
func (r *round) concern() writeConcern {
	return concernOf(r.drill.spec.Run.Durability, r.uri, r.concerns)
}

// commander is the official driver's way to run a command on the primary, or on a router.
func (r *round) commander() (c server.Commander, closeIt func(), err error) {
	client, err := mongo.Connect(options.Client().ApplyURI(r.uri).SetAppName("plimsoll drill").SetServerSelectionTimeout(askAtMost))
	if err != nil {
		return nil, nil, err
	}
	return server.Driver(client), func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = client.Disconnect(ctx) // nothing is under way
	}, nil
}
