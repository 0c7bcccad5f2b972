//go:build !race

package e2e

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/internal/mongouri"
	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/workload/own"
)

// d makes a document of names and values.
func d(pairs ...any) bson.D {
	out := bson.D{}
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, bson.E{Key: pairs[i].(string), Value: pairs[i+1]})
	}
	return out
}

// shopItems is the number of documents of the collection items.
const shopItems = 500

// openShop makes the data of the applications that are recorded.
func openShop(ctx context.Context, db *mongo.Database) error {
	chance := rand.New(rand.NewPCG(46, 2))
	var users, items, readings []any
	for i := range 200 {
		users = append(users, d("_id", bson.ObjectID{10: byte(i >> 8), 11: byte(i)}, "name", fmt.Sprint("user", i)))
	}
	begun := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	for i := range shopItems {
		state := "sent"
		if n := chance.IntN(10); n < 6 {
			state = []string{"new", "paid"}[n/3]
		}
		items = append(items, d("_id", itemID(i), "qty", i, "state", state, "price", 10+chance.Float64()*90,
			"name", fmt.Sprintf("%c%c%06d", 'a'+i%10, '0'+(i/10)%5, chance.IntN(1e6)), "tags", bson.A{"a", "b"}, "customer", fmt.Sprintf("c%03d", i%50),
			"at", begun.Add(time.Duration(i)*time.Hour), "addr", d("city", []string{"Rome", "Bern", "Oslo"}[i%3], "zip", 1000+i%20),
			"loc", d("type", "Point", "coordinates", bson.A{13 + evenly(i, math.Phi), 52 + evenly(i, math.Sqrt2)}),
			"owner", d("$ref", "users", "$id", bson.ObjectID{11: byte(i % 200)}), "user", bson.ObjectID{11: byte(i % 200)}))
	}
	for i := range 300 {
		at := begun.Add(time.Duration(i) * time.Minute)
		readings = append(readings, d("t", at, "sensor", fmt.Sprint("s", i%6), "v", chance.Float64()))
	}
	series := options.TimeSeries().SetTimeField("t").SetMetaField("sensor")
	if err := errors.Join(
		db.CreateCollection(ctx, "readings", options.CreateCollection().SetTimeSeriesOptions(series)),
		db.CreateCollection(ctx, "log", options.CreateCollection().SetCapped(true).SetSizeInBytes(1<<20)),
		db.CreateView(ctx, "cheap", "items", bson.A{d("$match", d("price", d("$lt", 50)))})); err != nil {
		return err
	}
	for name, docs := range map[string][]any{"users": users, "items": items, "readings": readings, "log": {d("n", 1), d("n", 2)}} {
		if _, err := db.Collection(name).InsertMany(ctx, docs); err != nil {
			return err
		}
	}
	_, err := db.Collection("items").Indexes().CreateMany(ctx, []mongo.IndexModel{
		{Keys: d("qty", 1), Options: options.Index().SetName("by_quantity")}, {Keys: d("state", 1, "qty", 1)}, {Keys: d("name", 1)},
		{Keys: d("at", 1)}, {Keys: d("loc", "2dsphere")}, {Keys: d("owner.$id", 1)}, {Keys: d("customer", 1)}})
	return err
}

// evenly is number i of a sequence that fills the range from 0 to 1 evenly.
func evenly(i int, step float64) float64 {
	_, part := math.Modf(float64(i) * step)
	return part
}

func itemID(i int) string { return fmt.Sprintf("item-%04d", i) }

// recordedApplication is what an application does, and what its recording must say.
type recordedApplication struct {
	name string
	do   func(ctx context.Context, items *mongo.Collection, n int) error // nil for a driver of another language
	file []string                                                        // texts of the workload file
}

// find reads all documents.
func find(ctx context.Context, c *mongo.Collection, filter any, o ...options.Lister[options.FindOptions]) error {
	cursor, err := c.Find(ctx, filter, o...)
	if err != nil {
		return err
	}
	return cursor.All(ctx, new([]bson.Raw))
}

func aggregate(ctx context.Context, c *mongo.Collection, stages ...any) error {
	cursor, err := c.Aggregate(ctx, bson.A(stages))
	if err != nil {
		return err
	}
	return cursor.All(ctx, new([]bson.Raw))
}

func updated(_ *mongo.UpdateResult, err error) error { return err }

// spread is a number below most that looks random and comes again only after most calls.
func spread(n, most int) int { return n * 37 % most }

var applications = []recordedApplication{
	{"reads by _id", func(ctx context.Context, c *mongo.Collection, n int) error {
		return c.FindOne(ctx, d("_id", itemID(spread(n, shopItems)))).Err()
	}, []string{"findOne: items", "$ref: items"}},
	{"reads of which a third finds nothing", func(ctx context.Context, c *mongo.Collection, n int) error {
		return ignore(c.FindOne(ctx, d("_id", itemID(spread(n, shopItems)+n%3/2*1000))).Err())
	}, nil},
	{"ranges of ten", func(ctx context.Context, c *mongo.Collection, n int) error {
		low := spread(n, 480)
		return find(ctx, c, d("qty", d("$gte", low, "$lt", low+10)))
	}, []string{"low + 10"}},
	{"ranges without an end", func(ctx context.Context, c *mongo.Collection, n int) error {
		return find(ctx, c, d("qty", d("$gte", spread(n, 400))), options.Find().SetLimit(20).SetSort(d("qty", 1)))
	}, nil},
	{"ranges of dates", func(ctx context.Context, c *mongo.Collection, n int) error {
		low := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(spread(n, 400)) * time.Hour)
		return find(ctx, c, d("at", d("$gte", low, "$lt", low.Add(24*time.Hour))))
	}, []string{"low + 86400000"}},
	{"lists of five", func(ctx context.Context, c *mongo.Collection, n int) error {
		list := bson.A{}
		for i := range 5 {
			list = append(list, itemID(spread(n+i*17, shopItems)))
		}
		return find(ctx, c, d("_id", d("$in", list)))
	}, []string{"count: 5"}},
	{"few values", func(ctx context.Context, c *mongo.Collection, n int) error {
		return find(ctx, c, d("state", []string{"new", "paid", "paid"}[n%3]))
	}, nil},
	{"values of one document", func(ctx context.Context, c *mongo.Collection, n int) error {
		i := spread(n, 50)
		return find(ctx, c, d("customer", fmt.Sprintf("c%03d", i)))
	}, nil},
	{"regular expressions with an anchor", func(ctx context.Context, c *mongo.Collection, n int) error {
		return find(ctx, c, d("name", bson.Regex{Pattern: fmt.Sprintf("^%c%c", 'a'+n%10, '0'+n/10%5)}))
	}, []string{"$pattern: {begins: 50"}},
	{"regular expressions without case", func(ctx context.Context, c *mongo.Collection, n int) error {
		return find(ctx, c, d("name", d("$regex", fmt.Sprintf("%c%c", 'A'+n%10, '0'+n/10%5), "$options", "i")))
	}, []string{"anywhere: true", "options: i"}},
	{"hints by name", func(ctx context.Context, c *mongo.Collection, n int) error {
		return find(ctx, c, d("qty", spread(n, shopItems)), options.Find().SetHint("by_quantity"))
	}, []string{"hint: by_quantity", "name: by_quantity"}},
	{"pages", func(ctx context.Context, c *mongo.Collection, n int) error {
		return find(ctx, c, d("state", "sent"), options.Find().SetSort(d("qty", 1)).SetSkip(int64(n%4)*10).SetLimit(10).SetBatchSize(5))
	}, []string{"skip: ", "batchSize"}},
	{"counts", func(ctx context.Context, c *mongo.Collection, n int) error {
		_, err := c.CountDocuments(ctx, d("qty", d("$lt", 100+spread(n, 100))), options.Count().SetSkip(5).SetLimit(50))
		return err
	}, []string{"$skip: 5", "$limit: 50"}},
	{"sets", func(ctx context.Context, c *mongo.Collection, n int) error {
		return updated(c.UpdateByID(ctx, itemID(spread(n, shopItems)), d("$set", d("state", "paid"), "$inc", d("seen", 1))))
	}, nil},
	{"arrays", func(ctx context.Context, c *mongo.Collection, n int) error {
		id := itemID(spread(n, shopItems))
		switch n % 4 {
		case 0:
			return updated(c.UpdateByID(ctx, id, d("$push", d("log", d("by", "x", "place", d("street", "y", "no", n))))))
		case 1:
			return updated(c.UpdateByID(ctx, id, d("$addToSet", d("tags", "new"))))
		case 2:
			return updated(c.UpdateByID(ctx, id, d("$push", d("scores", d("$each", bson.A{n, n + 1}, "$slice", -5)))))
		}
		return updated(c.UpdateByID(ctx, id, d("$pop", d("tags", 1))))
	}, []string{"$slice: -5"}},
	{"replacements", func(ctx context.Context, c *mongo.Collection, n int) error {
		return updated(c.ReplaceOne(ctx, d("_id", itemID(spread(n, shopItems))), d("qty", n, "state", "new")))
	}, []string{"replace: items"}},
	{"inserts and deletes", func(ctx context.Context, c *mongo.Collection, n int) error {
		if _, err := c.InsertOne(ctx, d("_id", fmt.Sprint("more-", n), "qty", 1000+n)); err != nil {
			return err
		}
		_, err := c.DeleteOne(ctx, d("_id", itemID(n)))
		return err
	}, []string{"$sequential: items"}},
	{"upserts", func(ctx context.Context, c *mongo.Collection, n int) error {
		id := itemID(spread(n, shopItems) + n%2*2000)
		return updated(c.UpdateByID(ctx, id, d("$set", d("state", "new")), options.UpdateOne().SetUpsert(true)))
	}, []string{"upsert: true"}},
	{"changes that return the document", func(ctx context.Context, c *mongo.Collection, n int) error {
		return c.FindOneAndUpdate(ctx, d("_id", itemID(spread(n, shopItems))), d("$inc", d("seen", 1))).Err()
	}, nil},
	{"mixed writes", func(ctx context.Context, c *mongo.Collection, n int) error {
		_, err := c.BulkWrite(ctx, []mongo.WriteModel{
			mongo.NewInsertOneModel().SetDocument(d("_id", fmt.Sprint("bulk-", n), "qty", 2000+n)),
			mongo.NewUpdateOneModel().SetFilter(d("_id", itemID(spread(n, shopItems)))).SetUpdate(d("$set", d("state", "sent"))),
			mongo.NewUpdateManyModel().SetFilter(d("customer", fmt.Sprintf("c%03d", n%50))).SetUpdate(d("$inc", d("seen", 1)))})
		return err
	}, []string{"many: true"}},
	{"groups", func(ctx context.Context, c *mongo.Collection, n int) error {
		return aggregate(ctx, c, d("$match", d("state", "sent")), d("$group", d("_id", "$addr.city", "n", d("$sum", 1))), d("$match", d("n", d("$gt", 2))))
	}, nil},
	{"joins", func(ctx context.Context, c *mongo.Collection, n int) error {
		return aggregate(ctx, c, d("$match", d("qty", spread(n, shopItems))),
			d("$lookup", d("from", "users", "localField", "user", "foreignField", "_id", "as", "who")), d("$match", d("who", d("$ne", bson.A{}))))
	}, []string{"from: users", "user: {$ref: users}"}},
	{"a view", func(ctx context.Context, c *mongo.Collection, n int) error {
		return find(ctx, c.Database().Collection("cheap"), d("customer", fmt.Sprintf("c%03d", n%50)))
	}, []string{"view:", "'on': items"}},
	{"places", func(ctx context.Context, c *mongo.Collection, n int) error {
		at := bson.A{13.2 + float64(spread(n, 60))/100, 52.2 + float64(spread(n, 53))/100}
		if n%2 == 0 {
			return find(ctx, c, d("loc", d("$near", d("$geometry", d("type", "Point", "coordinates", at), "$maxDistance", 20_000))), options.Find().SetLimit(5))
		}
		return find(ctx, c, d("loc", d("$geoWithin", d("$centerSphere", bson.A{at, 0.003}))))
	}, []string{"$geo: {type: Point", "2dsphere"}},
	{"places in a polygon", func(ctx context.Context, c *mongo.Collection, n int) error {
		x, y := 13.1+float64(spread(n, 60))/100, 52.1+float64(spread(n, 53))/100
		ring := bson.A{bson.A{x, y}, bson.A{x + 0.3, y}, bson.A{x + 0.3, y + 0.3}, bson.A{x, y + 0.3}, bson.A{x, y}}
		return find(ctx, c, d("loc", d("$geoWithin", d("$geometry", d("type", "Polygon", "coordinates", bson.A{ring})))))
	}, []string{"type: Polygon"}},
	{"references", func(ctx context.Context, c *mongo.Collection, n int) error {
		return find(ctx, c, d("owner.$id", bson.ObjectID{11: byte(n % 200)}))
	}, []string{"$ref: users", "$id:"}},
	{"a time series", func(ctx context.Context, c *mongo.Collection, n int) error {
		c = c.Database().Collection("readings")
		if n%4 > 0 {
			_, err := c.InsertOne(ctx, d("t", time.Date(2026, 2, 2, 0, n, 0, 0, time.UTC), "sensor", "s1", "v", 0.5))
			return err
		}
		return find(ctx, c, d("sensor", fmt.Sprint("s", n%6)), options.Find().SetLimit(10))
	}, []string{"time_series:", "time: t"}},
	{"expressions", func(ctx context.Context, c *mongo.Collection, n int) error {
		return find(ctx, c, d("$expr", d("$gt", bson.A{"$qty", 450})))
	}, []string{"$expr: {$gt: [$qty"}},
	{"distinct values", func(ctx context.Context, c *mongo.Collection, n int) error {
		return c.Distinct(ctx, "addr.city", d("state", "new")).Err()
	}, nil},
	{"a change stream", func(ctx context.Context, c *mongo.Collection, n int) error {
		return watchOne(ctx, c, n)
	}, []string{"full_document: updateLookup", "operationType: update", "readers: 1"}},
	{"python points", nil, nil}, {"python ranges", nil, []string{"low + 10"}}, {"python patterns", nil, []string{"$pattern"}},
	{"python bulk", nil, nil}, {"python pages", nil, []string{"secondaryPreferred"}}, {"python stream", nil, []string{"watch: items"}},
	{"node points", nil, nil}, {"node bulk", nil, []string{"replace: items"}}, {"node groups", nil, nil}, {"node sets", nil, []string{"count: 5"}},
	{"node transactions", nil, []string{"at least 21 transactions"}},
}

// watchOne changes a document and reads the event in a change stream, which is open from the first call to the last.
func watchOne(ctx context.Context, c *mongo.Collection, n int) error {
	if n == 0 {
		stream, err := c.Watch(ctx, bson.A{d("$match", d("operationType", "update"))}, options.ChangeStream().SetFullDocument(options.UpdateLookup).
			SetMaxAwaitTime(100*time.Millisecond))
		if err != nil {
			return err
		}
		openStream = stream
	}
	if err := updated(c.UpdateByID(ctx, itemID(n), d("$set", d("stamp", n)))); err != nil || openStream.Next(ctx) {
		return err
	}
	return openStream.Err()
}

// openStream is that of the one application with a change stream.
var openStream *mongo.ChangeStream

func ignore(err error) error {
	if err == mongo.ErrNoDocuments {
		return nil
	}
	return err
}

// otherDriver makes the command of an application with a driver of another language, which comes from its registry.
func otherDriver(t *testing.T, name string) []string {
	t.Helper()
	language, scenario, _ := strings.Cut(name, " ")
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "plimsoll-test", language)
	scripts, err := filepath.Abs("testdata/drivers")
	if err != nil {
		t.Fatal(err)
	}
	install, command := `test -x "$0/bin/python" || { python3 -m venv "$0" && "$0/bin/pip" install -q pymongo==4.20.1; }`,
		[]string{filepath.Join(dir, "bin", "python"), filepath.Join(scripts, "application.py")}
	if language == "node" {
		install = `test -d "$0/node_modules/mongodb" || { mkdir -p "$0" && cd "$0" && npm install --silent --no-fund mongodb@7.9.0; }`
		command = []string{"env", "NODE_DRIVER=" + dir, "node", filepath.Join(scripts, "application.mjs")}
	}
	if out, err := exec.Command("sh", "-c", install, dir).CombinedOutput(); err != nil {
		notrun.Here(t, "the driver of %s cannot be installed: %v %s", language, err, out)
		return nil
	}
	return append(command, "", "", scenario)
}

// operate does what an application does. command is that of a driver of another language.
func (a *recordedApplication) operate(t *testing.T, db *mongo.Database, command []string) {
	ctx := deadline(t)
	if command != nil {
		if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	const operations = 120
	for n := range operations {
		if err := a.do(ctx, db.Collection("items"), n); err != nil {
			t.Fatalf("operation %d: %v", n, err)
		}
	}
}

// TestMongoRecordings records applications with three drivers on a real mongod. The replay of each file does what was
// recorded: its weights, what its operations find, change and read, and their plans differ by at most a tenth.
func TestMongoRecordings(t *testing.T) {
	forEachServer(t, func(t *testing.T, s *server) {
		if s.engine != engine.Mongod {
			t.Log("the engine has no profiler")
			return
		}
		address, err := mongouri.Parse(s.uri)
		if err != nil {
			t.Fatal(err)
		}
		for i := range applications {
			a := &applications[i]
			t.Run(a.name, func(t *testing.T) {
				db := s.client.Database(newDatabase("recorded"))
				var command []string
				if a.do == nil {
					if command = otherDriver(t, a.name); command == nil {
						return
					}
					command[len(command)-3], command[len(command)-2] = s.uri, db.Name()
				}
				if err := openShop(deadline(t), db); err != nil {
					t.Fatal(err)
				}
				address.Path = db.Name()
				file := filepath.Join(t.TempDir(), "shop.yaml")
				c := start(t, "workload", "record", address.String(), "--profile", "all", "--for", "10m", "-o", file)
				until(t, "the profiler is changed", func() bool { level, _ := profilerOf(t, db); return level == 2 })
				a.operate(t, db, command)
				c.signal(t, os.Interrupt)
				e := c.wait(t).must(t, 130)
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := own.Read(strings.NewReader(string(text))); err != nil {
					t.Fatal(err)
				}
				for _, want := range a.file {
					if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), want) {
						t.Errorf("the file does not have %q", want)
					}
				}
				if !strings.Contains(e.stdout, "\nverified: weights, results and plans are within 10 %") || t.Failed() {
					t.Errorf("%s\n%s", e.stdout, text)
				}
				left := d("name", bson.Regex{Pattern: "^plimsoll_verify_"})
				if names, err := s.client.ListDatabaseNames(deadline(t), left); err != nil || len(names) > 0 {
					t.Errorf("left databases: %v (%v)", names, err)
				}
			})
		}
	})
}
