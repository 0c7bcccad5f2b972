package persons

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// page is a page of persons, in the form of HAL.
type page struct {
	Embedded struct {
		Persons []json.RawMessage `json:"persons"`
	} `json:"_embedded"`
	Page pageInfo `json:"page"`
}

// pageInfo says which page it is. The totals are absent if they were not asked for.
type pageInfo struct {
	Size   int64  `json:"size"`
	Number int64  `json:"number"`
	Total  *int64 `json:"totalElements,omitempty"`
	Pages  *int64 `json:"totalPages,omitempty"`
}

// Sizes of pages.
const (
	usualPage   = 20
	largestPage = 1000
)

// list returns a page of persons and, as paging repositories do, how many there are in all: a second command that looks
// at every document, so listing gets slower as persons are added. total=false leaves it out.
func (s *Service) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var p page
	var err, err2 error
	p.Page.Number, err = number(q.Get("page"), "page", 0, 0, 1<<40)
	p.Page.Size, err2 = number(q.Get("size"), "size", usualPage, 1, largestPage)
	if err = errors.Join(err, err2); err != nil {
		refuse(w, err)
		return
	}
	filter := bson.D{}
	for _, name := range []string{"firstName", "lastName"} {
		if q.Has(name) {
			filter = append(filter, bson.E{Key: name, Value: q.Get(name)})
		}
	}
	if p.Embedded.Persons, err = s.find(r.Context(), filter, p.Page); err != nil {
		fail(w, r.Context(), err, false)
		return
	}
	if q.Get("total") != "false" {
		n, err := s.persons.CountDocuments(r.Context(), filter)
		if err != nil {
			fail(w, r.Context(), err, false)
			return
		}
		pages := (n + p.Page.Size - 1) / p.Page.Size
		p.Page.Total, p.Page.Pages = &n, &pages
	}
	reply(w, http.StatusOK, p)
}

// find reads one page. Documents are written in canonical Extended JSON, so that whoever reads them gets the types back
// that were stored.
func (s *Service) find(ctx context.Context, filter bson.D, p pageInfo) ([]json.RawMessage, error) {
	cursor, err := s.persons.Find(ctx, filter, options.Find().SetSkip(p.Number*p.Size).SetLimit(p.Size))
	if err != nil {
		return nil, err
	}
	defer cursor.Close(ctx)
	list := []json.RawMessage{}
	for cursor.Next(ctx) {
		text, err := bson.MarshalExtJSON(cursor.Current, true, false)
		if err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, cursor.Err()
}

// count says how many persons there are.
func (s *Service) count(w http.ResponseWriter, r *http.Request) {
	n, err := s.persons.CountDocuments(r.Context(), bson.D{})
	if err != nil {
		fail(w, r.Context(), err, false)
		return
	}
	reply(w, http.StatusOK, map[string]int64{"count": n})
}

// health says whether MongoDB answers. Who distributes requests among several services asks this.
func (s *Service) health(w http.ResponseWriter, r *http.Request) {
	if err := s.client.Ping(r.Context(), nil); err != nil {
		reply(w, http.StatusServiceUnavailable, map[string]string{"status": "down", "service": "persons", "error": oneLine(err)})
		return
	}
	reply(w, http.StatusOK, map[string]string{"status": "up", "service": "persons", "database": s.persons.Database().Name()})
}

// number reads a parameter.
func number(text, name string, otherwise, least, most int64) (int64, error) {
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s is %q: it is a number from %d to %d", name, text, least, most)
	}
	return n, nil
}
