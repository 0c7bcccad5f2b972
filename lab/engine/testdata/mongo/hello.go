package main

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// wireVersions are the newest wire versions of releases, as the drivers' specification "Wire Version" lists them.
var wireVersions = map[int]int32{4: 9, 5: 13, 6: 17, 7: 21, 8: 25}

// hello is the answer to "hello": its page in the manual has a list of fields for each kind of server. One that is told
// which topology the client knows waits for another (drivers' specification "Server Discovery and Monitoring",
// streaming).
func (s *server) hello(command bson.D) bson.D {
	r := s.replica
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := sub(command, "topologyVersion"); known != nil && get(known, "processId") == r.process {
		end := time.Now().Add(time.Duration(number(command, "maxAwaitTimeMS")) * time.Millisecond)
		for int64(number(known, "counter")) == r.version && time.Now().Before(end) {
			r.wait(time.Until(end))
		}
	}
	d := bson.D{{Key: "helloOk", Value: true}, {Key: "maxBsonObjectSize", Value: int32(16 << 20)},
		{Key: "maxMessageSizeBytes", Value: int32(48000000)}, {Key: "maxWriteBatchSize", Value: int32(100000)},
		{Key: "localTime", Value: time.Now()}, {Key: "logicalSessionTimeoutMinutes", Value: int32(30)},
		{Key: "minWireVersion", Value: int32(0)}, {Key: "maxWireVersion", Value: wireVersions[s.major]}, {Key: "readOnly", Value: false},
		{Key: "topologyVersion", Value: bson.D{{Key: "processId", Value: r.process}, {Key: "counter", Value: r.version}}}}
	if get(command, "saslSupportedMechs") != nil {
		d = append(d, bson.E{Key: "saslSupportedMechs", Value: bson.A{"SCRAM-SHA-256"}})
	}
	writable := r.state == stPrimary
	switch {
	case s.router:
		d = append(d, bson.E{Key: "msg", Value: "isdbgrid"})
	case r.alone():
	case r.config == nil || r.state == stRemoved:
		why := "Does not have a valid replica set config"
		if r.config != nil {
			why = "Our replica set config is invalid or we are not a member of it"
		}
		d = append(d, bson.E{Key: "secondary", Value: false}, bson.E{Key: "info", Value: why}, bson.E{Key: "isreplicaset", Value: true})
	default:
		d = append(d, r.helloMember()...)
	}
	if s.hasHello() {
		d = append(d, bson.E{Key: "isWritablePrimary", Value: writable})
	}
	return good(append(d, bson.E{Key: "ismaster", Value: writable})...)
}

// hasHello says whether the release has the command hello and its fields, which are new in 4.4.2.
func (s *server) hasHello() bool { return s.Version != "4.4.0" && s.Version != "4.4.1" }

func (r *replica) helloMember() bson.D {
	hosts, passives, arbiters := bson.A{}, bson.A{}, bson.A{}
	for _, m := range r.members {
		switch {
		case m.arbiter:
			arbiters = append(arbiters, m.host)
		case m.priority == 0:
			passives = append(passives, m.host)
		default:
			hosts = append(hosts, m.host)
		}
	}
	_, copying := r.copies()
	d := bson.D{{Key: "hosts", Value: hosts}, {Key: "setName", Value: r.s.args["replSet"]}, {Key: "setVersion", Value: int32(configVersion(r.config))},
		{Key: "me", Value: r.s.address}, {Key: "secondary", Value: r.state == stSecondary && !copying}}
	if len(passives) > 0 {
		d = append(d, bson.E{Key: "passives", Value: passives})
	}
	if len(arbiters) > 0 {
		d = append(d, bson.E{Key: "arbiters", Value: arbiters})
	}
	if r.state == stArbiter {
		d = append(d, bson.E{Key: "arbiterOnly", Value: true})
	}
	if r.primary != "" {
		d = append(d, bson.E{Key: "primary", Value: r.primary})
	}
	if r.state == stPrimary {
		id := bson.ObjectID{0x7f, 0xff, 0xff, 0xff}
		for i := range 8 {
			id[11-i] = byte(r.term >> (8 * i))
		}
		d = append(d, bson.E{Key: "electionId", Value: id})
	}
	return append(d, bson.E{Key: "lastWrite", Value: bson.D{{Key: "opTime", Value: r.last().doc()}, {Key: "lastWriteDate", Value: r.last().date()},
		{Key: "majorityOpTime", Value: r.commit.doc()}, {Key: "majorityWriteDate", Value: r.commit.date()}}})
}
