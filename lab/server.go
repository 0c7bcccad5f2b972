package lab

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab/topology"
	"github.com/plimsoll-bench/plimsoll/record"
)

// maxRequest bounds the body of a request, in bytes.
const maxRequest = 1 << 20

func (s *supervisor) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathLab, func(w http.ResponseWriter, r *http.Request) {
		depth, _ := strconv.Atoi(r.FormValue("depth"))
		writeAnswer(w, s.describe(r.Context(), topology.Depth(depth)), nil)
	})
	mux.HandleFunc("GET "+pathAddresses, func(w http.ResponseWriter, _ *http.Request) {
		a, err := s.addresses()
		writeAnswer(w, a, err)
	})
	mux.HandleFunc("GET "+pathUsage, func(w http.ResponseWriter, _ *http.Request) {
		u, err := s.usage()
		writeAnswer(w, u, err)
	})
	mux.HandleFunc("GET "+pathCounters, func(w http.ResponseWriter, r *http.Request) {
		seen, err := s.counters(r.Context())
		writeAnswer(w, seen, err)
	})
	mux.HandleFunc("GET "+pathEvents, s.serveEvents)
	mux.HandleFunc("POST "+pathExec, s.serveExec)
	mux.HandleFunc("POST "+pathRead, s.serveRead)
	mux.HandleFunc("POST "+pathFail, answer(func(r *http.Request, f failRequest) (record.LabFault, error) {
		return s.injector.fail(context.WithoutCancel(r.Context()), f.Fault, f.Limit)
	}))
	mux.HandleFunc("POST "+pathHeal, answer(func(_ *http.Request, h Healing) ([]record.LabFault, error) {
		return s.injector.heal(h)
	}))
	mux.HandleFunc("POST "+pathRepair, answer(func(_ *http.Request, v repairRequest) (repairAnswer, error) {
		text, err := s.storage.repair(v.Volume)
		return repairAnswer{text}, err
	}))
	mux.HandleFunc("POST "+pathStop, func(w http.ResponseWriter, _ *http.Request) {
		writeAnswer(w, struct{}{}, nil)
		s.stop()
	})
	return mux
}

func answer[In, Out any](do func(*http.Request, In) (Out, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in In
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			writeAnswer(w, nil, refuse("another version of plimsoll created this lab and does not understand the request: %v. "+
				"Use that version", err))
			return
		}
		out, err := do(r, in)
		writeAnswer(w, out, err)
	}
}

func (s *supervisor) serveEvents(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.ParseInt(r.FormValue("after"), 10, 64)
	wait, _ := time.ParseDuration(r.FormValue("wait"))
	ctx, cancel := context.WithTimeout(r.Context(), max(0, min(wait, longPoll)))
	defer cancel()
	events := s.events.since(ctx, after)
	if events == nil {
		events = []record.LabEvent{}
	}
	writeAnswer(w, events, nil)
}
