package workload

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
)

func TestLocationDocument(t *testing.T) {
	w := open(t, "location", nil)
	least, most := 1<<20, 0
	for seq := range int64(2000) {
		doc := loadOne(w, seq)
		least, most = min(least, len(doc)), max(most, len(doc))
	}
	if least < 380 || most > 620 {
		t.Errorf("documents have %d to %d bytes, want about 400 to 600", least, most)
	}
	doc := bson.Raw(loadOne(w, 0))
	for path, want := range map[string]bson.Type{
		"name": bson.TypeString, "address.street": bson.TypeString, "address.city": bson.TypeString,
		"address.zip": bson.TypeString, "address.country": bson.TypeString, "geo.type": bson.TypeString,
		"geo.coordinates.1": bson.TypeDouble, "tags.2": bson.TypeString, "opened": bson.TypeDateTime,
		"rating": bson.TypeDouble, "reviews": bson.TypeInt32, "active": bson.TypeBoolean,
	} {
		if got := doc.Lookup(strings.Split(path, ".")...).Type; got != want {
			t.Errorf("%s is a %s, want %s", path, got, want)
		}
	}
}

func TestLocationOperations(t *testing.T) {
	w := open(t, "location", map[string]string{"batchsize": "7"})
	var op Op
	s := w.Stream(0, 1)
	seen := map[string]bool{}
	for len(seen) < 2 {
		s.Next(&op)
		name := w.Classes()[op.Class].Name
		seen[name] = true
		got := describeOp(w, &op)
		switch name {
		case "insert":
			if n := len(op.Requests[0].Docs); n != 7 || !op.Requests[0].Unordered {
				t.Errorf("inserted %d documents, want 7 unordered: %s", n, got)
			}
		case "find-by-city":
			if !strings.HasPrefix(got, `find filter={"address.city": "`) || !strings.HasSuffix(got, "limit=20 may-be-empty") {
				t.Errorf("search is %s", got)
			}
		}
	}
	if diff := cmp.Diff("address.city", fieldsOf(t, w.Indexes()[0].Keys)[0]); diff != "" {
		t.Errorf("index (-want +got):\n%s", diff)
	}
}

func TestCatalogDocument(t *testing.T) {
	w := open(t, "catalog", nil)
	for seq := range int64(500) {
		doc := bson.Raw(loadOne(w, seq))
		for path, want := range map[string]bson.Type{
			"name": bson.TypeString, "brand": bson.TypeString, "category": bson.TypeString, "price": bson.TypeDouble,
			"tags.2": bson.TypeString, "attributes.color": bson.TypeString, "variants.1.sku": bson.TypeString,
			"variants.1.price": bson.TypeDouble, "variants.1.stock": bson.TypeInt32, "stock.available": bson.TypeInt32,
			"stock.reserved": bson.TypeInt32, "reviews.count": bson.TypeInt32,
		} {
			if got := doc.Lookup(strings.Split(path, ".")...).Type; got != want {
				t.Fatalf("product %d: %s is a %s, want %s", seq, path, got, want)
			}
		}
		tags, err := doc.Lookup("tags").Array().Values()
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, v := range tags {
			words = append(words, v.StringValue())
		}
		slices.Sort(words)
		if n := len(words); n < 3 || n > 5 || len(slices.Compact(words)) != n {
			t.Fatalf("product %d has the tags %v", seq, words)
		}
	}
	if id := bson.Raw(loadOne(w, 42)).Lookup("_id").StringValue(); id != "product-000000000042" {
		t.Errorf("_id is %s", id)
	}
}

func TestCatalogOperations(t *testing.T) {
	w := open(t, "catalog", map[string]string{"aggregateproportion": "0.5"})
	s := w.Stream(0, 1)
	got := map[string]string{}
	var op Op
	for range 500 {
		s.Next(&op)
		got[w.Classes()[op.Class].Name] = describeOp(w, &op)
	}
	for name, parts := range map[string][]string{
		"read":          {`find filter={"_id": "product-`, ` limit=1`},
		"find-by-tag":   {`find filter={"tags": "`, ` limit=20 may-be-empty`},
		"find-by-price": {`find filter={"category": "`, `"price": {"$gte": `, `,"$lt": `, ` sort={"price": 1} limit=20 may-be-empty`},
		"update-stock":  {`update {"_id": "product-`, `{"$inc": {"stock.available": -`, `"stock.reserved": `},
		"aggregate": {`aggregate [{"$match": {"category": "`, `{"$group": {"_id": "$brand","products": {"$sum": 1},` +
			`"averagePrice": {"$avg": "$price"},"available": {"$sum": "$stock.available"}}},` +
			`{"$sort": {"products": -1,"_id": 1}},{"$limit": 10}] may-be-empty`},
		"insert": {`insert [{"_id": "product-0000001`},
	} {
		for _, part := range parts {
			if !strings.Contains(got[name], part) {
				t.Errorf("%s is\n%s\nwithout\n%s", name, got[name], part)
			}
		}
	}
	if len(got) != 6 {
		t.Errorf("saw the operations %v", got)
	}
}

// What a search asks for exists: every tag, category and city is found in a data set of moderate size.
func TestSearchesFindSomething(t *testing.T) {
	w := open(t, "catalog", nil)
	found := map[string]bool{}
	for seq := range int64(5000) {
		doc := bson.Raw(loadOne(w, seq))
		found[doc.Lookup("category").StringValue()] = true
		tags, err := doc.Lookup("tags").Array().Values()
		if err != nil {
			t.Fatal(err)
		}
		for _, tag := range tags {
			found[tag.StringValue()] = true
		}
	}
	places := open(t, "location", nil)
	for seq := range int64(5000) {
		found[bson.Raw(loadOne(places, seq)).Lookup("address", "city").StringValue()] = true
	}
	var cityNames []string
	for _, c := range cities {
		cityNames = append(cityNames, c.first)
	}
	for _, word := range slices.Concat(categories, productTags, cityNames) {
		if !found[word] {
			t.Errorf("no document has %q", word)
		}
	}
}
