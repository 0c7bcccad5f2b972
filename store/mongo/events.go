package mongo

import (
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/store"
)

// The kinds of events of [Options.OnEvent], with their data. Those of the first client are reported.
const (
	// EventPrimary: the primary has changed, or there is none. Data: "from", "to".
	EventPrimary = "primary-changed"
	// EventUnknown: a server cannot be reached or is changing its state. Data: "server" (host:port), "was".
	EventUnknown = "server-unknown"
	// EventKnown: a server that was unknown has replied. Data: "server", "kind".
	EventKnown = "server-known"
	// EventPoolCleared: all connections to a server are closed. Data: "server", "reason".
	EventPoolCleared = "pool-cleared"
)

// watch subscribes to the events of a client.
func watch(o *options.ClientOptions, tell func(kind, text string, data map[string]string)) {
	o.SetServerMonitor(&event.ServerMonitor{
		TopologyDescriptionChanged: func(e *event.TopologyDescriptionChangedEvent) {
			from, to := primaryOf(e.PreviousDescription), primaryOf(e.NewDescription)
			if from != to {
				tell(EventPrimary, primaryText(from, to), map[string]string{"from": from, "to": to})
			}
		},
		ServerDescriptionChanged: func(e *event.ServerDescriptionChangedEvent) {
			serverChanged(e, tell)
		},
	})
	o.SetPoolMonitor(&event.PoolMonitor{Event: func(e *event.PoolEvent) {
		if e.Type == event.ConnectionPoolCleared {
			reason := e.Reason
			if e.Error != nil {
				reason = store.OneLine(e.Error.Error())
			}
			tell(EventPoolCleared, "closed all connections to "+e.Address, map[string]string{
				"server": e.Address, "reason": reason})
		}
	}})
}

// unknown is the driver's kind of an unknown server.
const unknown = "Unknown"

func serverChanged(e *event.ServerDescriptionChangedEvent, tell func(kind, text string, data map[string]string)) {
	addr, was, is := e.Address.String(), e.PreviousDescription.Kind, e.NewDescription.Kind
	switch {
	case was != unknown && is == unknown:
		tell(EventUnknown, addr+" is unknown (was "+was+")", map[string]string{"server": addr, "was": was})
	case was == unknown && is != unknown:
		tell(EventKnown, addr+" is "+is, map[string]string{"server": addr, "kind": is})
	}
}

// primaryOf returns the address of the primary of a replica set.
func primaryOf(d event.TopologyDescription) string {
	for _, s := range d.Servers {
		if s.Kind == "RSPrimary" {
			return s.Addr.String()
		}
	}
	return ""
}

func primaryText(from, to string) string {
	switch {
	case to == "":
		return "no primary is known (was " + from + ")"
	case from == "":
		return to + " is the primary"
	}
	return to + " is the primary (was " + from + ")"
}
