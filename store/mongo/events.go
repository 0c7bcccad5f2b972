package mongo

import (
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/store"
)

// The kinds of events that [Options.OnEvent] is told. Data always holds "server" (host:port) unless
// said otherwise. With several clients, the first one's view is reported.
const (
	// EventPrimary: another server is known as the primary, or none. Data: "from", "to".
	EventPrimary = "primary-changed"
	// EventUnknown: a server that was known cannot be reached or said that its state changes. Data: "was".
	EventUnknown = "server-unknown"
	// EventKnown: a server that was unknown has answered. Data: "kind".
	EventKnown = "server-known"
	// EventPoolCleared: all connections to a server are given up. Data: "reason".
	EventPoolCleared = "pool-cleared"
)

// watch subscribes tell to the events of a client.
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
			tell(EventPoolCleared, "connections to "+e.Address+" given up", map[string]string{
				"server": e.Address, "reason": reason})
		}
	}})
}

// unknown is the driver's name for a server that it knows nothing of.
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

// primaryOf returns the address of the server that takes writes in a replica set.
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
