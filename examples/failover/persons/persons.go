// Package persons is a small REST service that keeps persons in MongoDB: the kind of service that stands between a
// database and its users, written to be read. The program ../service serves it, and plimsoll starts the same code
// beside a run that says via: rest.
//
//	POST /persons            adds one: {"firstName": "Ada", "lastName": "Byron"}
//	POST /persons/batch      adds several: {"persons": [{…}, {…}]}
//	GET  /persons            a page of them: ?page=0&size=20&firstName=…&lastName=…&total=false
//	GET  /persons/count      how many there are
//	GET  /persons/ID         one of them
//	GET  /healthz            whether the service reaches MongoDB
//
// Bodies are JSON, or MongoDB's Extended JSON where a type has to be exact: an _id of the caller's own
// ({"$oid": "…"}), numbers of 64 bits. Fields that nobody knows here are kept as they are.
//
// # What an error says
//
// A caller that gets an error has to know whether its person was added. There are three answers, in the field
// "outcome" of the body: it was refused and nothing changed (status 4xx), nothing was sent to a database (503,
// "not-applied"), or nobody knows (500 or 504, "indeterminate"). Whatever is not proven counts as the last.
package persons

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Collection is where the persons are kept.
const Collection = "person"

// Options say where persons are kept.
type Options struct {
	// URI is that of MongoDB; its options decide how safe a write is (w=majority, journal=true).
	URI      string
	Database string
	// Timeout is how long MongoDB may take for one request; 0 means 5 seconds.
	Timeout time.Duration
	// Token is what callers have to send (Authorization: Bearer TOKEN). Without one everybody who reaches the service, and
	// every web page in a browser that does, may use it.
	Token string
}

// Service answers requests. It is safe for concurrent use.
type Service struct {
	client  *mongo.Client
	persons *mongo.Collection
	timeout time.Duration
	token   string
}

// Open prepares the service. MongoDB does not have to be there yet: until it is, every request says so.
func Open(o Options) (*Service, error) {
	if o.Database == "" {
		return nil, errors.New("no database: say where the persons are kept")
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	c := options.Client().ApplyURI(o.URI).SetAppName("persons").
		SetServerSelectionTimeout(o.Timeout).SetConnectTimeout(o.Timeout).
		SetMonitor(&event.CommandMonitor{Started: countSent})
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("the address of MongoDB cannot be used: %w", err)
	}
	if w := c.WriteConcern; w != nil && !w.Acknowledged() {
		return nil, errors.New("the address asks for w=0: the service says that a person was added when MongoDB has said so, and with w=0 it never does")
	}
	client, err := mongo.Connect(c)
	if err != nil {
		return nil, err
	}
	return &Service{client: client, persons: client.Database(o.Database).Collection(Collection), timeout: o.Timeout,
		token: o.Token}, nil
}

// Close gives back the connections to MongoDB.
func (s *Service) Close(ctx context.Context) error { return s.client.Disconnect(ctx) }

// Handler is the service as net/http wants it.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /persons", s.limited(s.add))
	mux.HandleFunc("POST /persons/batch", s.limited(s.addAll))
	mux.HandleFunc("GET /persons", s.limited(s.list))
	mux.HandleFunc("GET /persons/count", s.limited(s.count))
	mux.HandleFunc("GET /persons/{id}", s.limited(s.one))
	mux.HandleFunc("GET /healthz", s.limited(s.health))
	if s.token == "" {
		return mux
	}
	return s.known(mux)
}

// known refuses requests without the token. No web page has it, so Host, Origin and Content-Type need no check of their
// own.
func (s *Service) known(next http.Handler) http.HandlerFunc {
	want := []byte("Bearer " + s.token)
	return func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			reply(w, http.StatusUnauthorized, answer{Outcome: "rejected", Error: "this service needs the token of whoever started it"})
			return
		}
		next.ServeHTTP(w, r)
	}
}

// limited bounds the time and the size of a request. Its context ends with the time, and when the caller hangs up.
func (s *Service) limited(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(context.WithValue(r.Context(), sentKey{}, new(atomic.Int32)), s.timeout)
		defer cancel()
		r.Body = http.MaxBytesReader(w, r.Body, largestBody)
		next(w, r.WithContext(ctx))
	}
}

// largestBody is how much a request may send, in bytes: a batch of some thousand persons.
const largestBody = 16 << 20

// sentKey finds, in the context of a request, how many commands it sent to MongoDB. The driver waits for a server and a
// connection first; an error during that proves that nothing was sent, and the count is the proof.
type sentKey struct{}

func countSent(ctx context.Context, _ *event.CommandStartedEvent) {
	if n, ok := ctx.Value(sentKey{}).(*atomic.Int32); ok {
		n.Add(1)
	}
}

// sent is how many commands were sent for a request; more than one means that the driver tried again.
func sent(ctx context.Context) int32 { return ctx.Value(sentKey{}).(*atomic.Int32).Load() }

// add stores one person.
func (s *Service) add(w http.ResponseWriter, r *http.Request) {
	var person bson.D
	if !read(w, r, &person) {
		return
	}
	person, id, err := complete(person)
	if err != nil {
		refuse(w, err)
		return
	}
	if _, err := s.persons.InsertOne(r.Context(), person); err != nil {
		fail(w, r.Context(), err, true)
		return
	}
	w.Header().Set("Location", "/persons/"+id.Hex())
	reply(w, http.StatusCreated, answer{Outcome: "ok", ID: id.Hex(), Added: 1})
}

// addAll stores several persons. One that cannot be added does not keep the others from it.
func (s *Service) addAll(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Persons []bson.D `bson:"persons"`
	}
	if !read(w, r, &body) {
		return
	}
	if len(body.Persons) == 0 {
		refuse(w, errors.New("persons is empty"))
		return
	}
	for i, p := range body.Persons {
		var err error
		if body.Persons[i], _, err = complete(p); err != nil {
			refuse(w, fmt.Errorf("person %d of %d: %w", i+1, len(body.Persons), err))
			return
		}
	}
	_, err := s.persons.InsertMany(r.Context(), body.Persons, options.InsertMany().SetOrdered(false))
	if err != nil {
		fail(w, r.Context(), err, true, len(body.Persons))
		return
	}
	reply(w, http.StatusCreated, answer{Outcome: "ok", Added: len(body.Persons)})
}

// complete checks what a person must have, and gives it an _id if it brought none.
func complete(p bson.D) (bson.D, bson.ObjectID, error) {
	var id bson.ObjectID
	has := map[string]bool{}
	for _, e := range p {
		var ok bool
		switch e.Key {
		case "_id":
			if id, ok = e.Value.(bson.ObjectID); !ok {
				return nil, id, errors.New(`_id is no ObjectId: write {"$oid": "24 hexadecimal digits"}, or leave it out`)
			}
		case "firstName", "lastName":
			_, ok = e.Value.(string)
		}
		has[e.Key] = ok
	}
	if !has["firstName"] || !has["lastName"] {
		return nil, id, errors.New("a person has a firstName and a lastName, both of them text")
	}
	if !has["_id"] {
		id = bson.NewObjectID()
		p = append(bson.D{{Key: "_id", Value: id}}, p...)
	}
	return p, id, nil
}

// one returns the person with an id.
func (s *Service) one(w http.ResponseWriter, r *http.Request) {
	id, err := bson.ObjectIDFromHex(r.PathValue("id"))
	if err != nil {
		refuse(w, errors.New("an id has 24 hexadecimal digits"))
		return
	}
	doc, err := s.persons.FindOne(r.Context(), bson.D{{Key: "_id", Value: id}}).Raw()
	switch {
	case errors.Is(err, mongo.ErrNoDocuments):
		reply(w, http.StatusNotFound, answer{Outcome: "not-found", Error: "there is no person with this id"})
	case err != nil:
		fail(w, r.Context(), err, false)
	default:
		replyDocument(w, doc)
	}
}
