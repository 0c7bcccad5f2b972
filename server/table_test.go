package server

import (
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// nested is a document with one value at a path.
func nested(path []string, value any) bson.D {
	if len(path) == 1 {
		return bson.D{{Key: path[0], Value: value}}
	}
	return bson.D{{Key: path[0], Value: nested(path[1:], value)}}
}

func marshalled(t *testing.T, d bson.D) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A statistic is read wherever a release has it, and has one name.
func TestStatisticsInAllPlaces(t *testing.T) {
	var names []string
	for _, s := range Statistics() {
		if slices.Contains(names, s.Name) {
			t.Errorf("%s is twice in the table", s.Name)
		}
		names = append(names, s.Name)
		if s.Kind == Mean && len(s.Terms) != 2 || (s.Kind == Mean || s.Kind == Time) != (s.Unit > 0) {
			t.Errorf("%s: kind %d, unit %v, %d terms", s.Name, s.Kind, s.Unit, len(s.Terms))
		}
		for _, term := range s.Terms {
			for _, p := range term {
				if x, ok := term.Number(marshalled(t, nested(p.Path, int64(7)))); !ok || x != 7 {
					t.Errorf("%s at %v: %v, %v", s.Name, p.Path, x, ok)
				}
				if _, err := ParseVersion(p.Since); p.Since != "" && err != nil {
					t.Errorf("%s at %v: release %q", s.Name, p.Path, p.Since)
				}
			}
		}
	}
}

// The first release with a statistic is the first one of any of its places.
func TestStatisticSince(t *testing.T) {
	for name, want := range map[string]string{"waiting.read_tickets": "7.0", "waiting.prepared": "8.3",
		"waiting.evicting":     "",
		"waiting.flow_control": "", "load.reads": "", "tickets.read.out": "", "connections.rejected": "7.0"} {
		s, ok := StatisticNamed(name)
		if !ok || s.Since() != want {
			t.Errorf("%s: since %q, %v; want %q", name, s.Since(), ok, want)
		}
	}
	if _, ok := StatisticNamed("no.such"); ok {
		t.Error("a statistic without a name was found")
	}
}

// The time of a lock is that of all its modes; anything else than numbers is no value.
func TestNumbersOfDocuments(t *testing.T) {
	locks := marshalled(t, bson.D{{Key: "locks", Value: bson.D{{Key: "Collection", Value: bson.D{
		{Key: "timeAcquiringMicros", Value: bson.D{{Key: "r", Value: int64(5)}, {Key: "w", Value: int64(7)}}}}}}}})
	s, _ := StatisticNamed("waiting.collection_locks")
	if x, ok := s.Sum(locks); !ok || x != 12 {
		t.Errorf("%v, %v", x, ok)
	}
	for _, wrong := range []any{bson.D{}, bson.D{{Key: "r", Value: "x"}}, bson.A{1}, "text", nil} {
		d := marshalled(t, nested([]string{"locks", "Collection", "timeAcquiringMicros"}, wrong))
		if x, ok := s.Sum(d); ok {
			t.Errorf("%v is %v", wrong, x)
		}
	}
}
