package main

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// dispatchSet knows the commands of members of replica sets.
func (s *server) dispatchSet(name string, command bson.D) bson.D {
	r := s.replica
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.config == nil || s.is("not-initialized") {
		return failed(94, "NotYetInitialized", "no replset config has been received")
	}
	switch name {
	case "replSetGetStatus":
		return r.status()
	case "replSetGetConfig":
		return good(bson.E{Key: "config", Value: bson.Raw(r.config)})
	case "replSetReconfig":
		return r.reconfigure(command)
	case "replSetStepDown":
		return r.stepDownFor(command)
	}
	return failed(59, "CommandNotFound", "no such command: '"+name+"'")
}

// initiate checks a configuration as the manual says ("replSetInitiate", "Self-Managed Replica Set Configuration").
func (s *server) initiate(st *state, command bson.D) bson.D {
	config := sub(command, "replSetInitiate")
	name := text(config, "_id")
	r := s.replica
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.config != nil {
		return failed(23, "AlreadyInitialized", "already initialized")
	}
	if s.is("initiate-refused") {
		return failed(93, "InvalidReplicaSetConfig", "the stand-in refuses this configuration")
	}
	if name != s.args["replSet"] {
		return failed(93, "InvalidReplicaSetConfig", "set name does not match the set name host "+s.address+" expects")
	}
	isConfig, _ := get(config, "configsvr").(bool)
	if isConfig != (s.args["configsvr"] != "") {
		return failed(93, "InvalidReplicaSetConfig", "configsvr must be set if and only if --configsvr is given")
	}
	voters, mine := 0, false
	for _, m := range membersOf(config) {
		if !st.alive(m.host) || st.Servers[m.host].Set != name {
			return failed(74, "NodeNotFound", "replSetInitiate quorum check failed because not all proposed set members responded affirmatively: "+m.host)
		}
		if m.votes == 0 && m.priority > 0 || m.arbiter && isConfig {
			return failed(93, "InvalidReplicaSetConfig", "priority must be 0 when non-voting, and config servers have no arbiters")
		}
		voters += m.votes
		mine = mine || m.host == s.address && !m.arbiter && m.priority > 0
	}
	if voters > 7 || !mine {
		return failed(93, "InvalidReplicaSetConfig", "more than 7 voting members, or this node is not electable")
	}
	config = append(config, bson.E{Key: "version", Value: int32(1)}, bson.E{Key: "term", Value: int64(1)})
	raw, err := bson.Marshal(config)
	check(err)
	st.Sets[name] = &replicaSet{Config: raw, Users: map[string]credential{}}
	if isConfig { // of a cluster before this one nothing is known any more
		st.Cluster = newCluster()
	}
	r.adopt(raw)
	return good()
}

// status is "replSetGetStatus": what this member knows of all.
func (r *replica) status() bson.D {
	members := bson.A{}
	for _, m := range r.members {
		state, health, applied, durable, elected := r.state, 1.0, r.last(), r.durable, r.elected
		d := bson.D{{Key: "_id", Value: int32(m.id)}, {Key: "name", Value: m.host}}
		if m.host == r.s.address {
			d = append(d, bson.E{Key: "self", Value: true})
		} else if p := r.peers[m.host]; p == nil {
			state, health = stDown, 0
		} else {
			state, applied, durable, elected = p.state, p.applied, p.durable, p.elected
			if state == stDown {
				health, applied, durable = 0, optime{}, optime{}
			}
			d = append(d, bson.E{Key: "lastHeartbeatRecv", Value: p.heard}, bson.E{Key: "lastHeartbeatMessage", Value: p.problem})
		}
		d = append(d, bson.E{Key: "health", Value: health}, bson.E{Key: "state", Value: int32(state)},
			bson.E{Key: "stateStr", Value: stateWords[state]})
		if state == stPrimary {
			d = append(d, bson.E{Key: "electionTime", Value: bson.Timestamp{T: uint32(elected.Unix()), I: 1}},
				bson.E{Key: "electionDate", Value: elected})
		}
		if !m.arbiter {
			d = append(d, bson.E{Key: "optime", Value: applied.doc()}, bson.E{Key: "optimeDurable", Value: durable.doc()},
				bson.E{Key: "optimeDate", Value: applied.date()}, bson.E{Key: "optimeDurableDate", Value: durable.date()})
		}
		members = append(members, d)
	}
	d := bson.D{}
	if r.state == stPrimary {
		d = bson.D{{Key: "electionCandidateMetrics", Value: bson.D{{Key: "lastElectionDate", Value: r.elected}, {Key: "electionTerm", Value: r.term},
			{Key: "newTermStartDate", Value: r.elected}}}}
	}
	state := r.state
	if documents, copying := r.copies(); copying { // "replSetGetStatus", initialSyncStatus
		state = stStartup2
		d = append(d, bson.E{Key: "initialSyncStatus", Value: bson.D{{Key: "failedInitialSyncAttempts", Value: int32(0)},
			{Key: "totalInitialSyncElapsedMillis", Value: time.Since(r.copying).Milliseconds()}, {Key: "databases", Value: bson.D{
				{Key: "plimsoll", Value: bson.D{{Key: "plimsoll.usertable", Value: bson.D{{Key: "documentsCopied", Value: documents}}}}}}}}})
	}
	return good(append(d, bson.E{Key: "set", Value: r.s.args["replSet"]}, bson.E{Key: "date", Value: time.Now()},
		bson.E{Key: "myState", Value: int32(state)},
		bson.E{Key: "term", Value: r.term}, bson.E{Key: "heartbeatIntervalMillis", Value: r.rules.interval.Milliseconds()},
		bson.E{Key: "optimes", Value: bson.D{{Key: "lastCommittedOpTime", Value: r.commit.doc()}, {Key: "appliedOpTime", Value: r.last().doc()},
			{Key: "durableOpTime", Value: r.durable.doc()}}}, bson.E{Key: "members", Value: members})...)
}

// reconfigure is "replSetReconfig".
func (r *replica) reconfigure(command bson.D) bson.D {
	config := sub(command, "replSetReconfig")
	force, _ := get(command, "force").(bool)
	if r.state != stPrimary && !force {
		return notPrimary()
	}
	if int64(number(config, "version")) <= configVersion(r.config) {
		return failed(103, "NewReplicaSetConfigurationIncompatible", "version field value of the new config is not greater")
	}
	r.adopt(raw(config))
	r.version++
	r.beatAll()
	go r.publish()
	return good()
}

// stepDownFor is "replSetStepDown".
func (r *replica) stepDownFor(command bson.D) bson.D {
	if r.state != stPrimary {
		return notPrimary()
	}
	seconds, catchUp := number(command, "replSetStepDown"), number(command, "secondaryCatchUpPeriodSecs")
	if seconds <= catchUp {
		return failed(2, "BadValue", "stepdown period must be longer than secondaryCatchUpPeriodSecs")
	}
	if !r.handOver(time.Duration(catchUp*float64(time.Second)), time.Duration(seconds*float64(time.Second))) {
		return failed(262, "ExceededTimeLimit", "No electable secondaries caught up as of now. Please use the replSetStepDown command with the argument {force: true} to force node to step down.")
	}
	return good()
}

// initiated says whether the member has a configuration.
func (r *replica) initiated() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.config != nil
}

// leads says whether the member is primary.
func (r *replica) leads() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state == stPrimary
}

// recordUser waits until a new user is where the write concern wants it: an entry of the oplog stands for the user.
func (r *replica) recordUser(command, reply bson.D) bson.D {
	c, refusal := r.concern(command)
	if refusal != nil {
		return refusal
	}
	r.mu.Lock()
	r.append(&entry{Op: "n"})
	at, term := r.last(), r.term
	r.mu.Unlock()
	return r.confirm(c, at, term, false, reply)
}

// killCursors forgets what is left of cursors.
func (r *replica) killCursors(command bson.D) bson.D {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids, _ := get(command, "cursors").(bson.A)
	for _, id := range ids {
		if n, ok := id.(int64); ok {
			delete(r.cursors, n)
		}
	}
	return good(bson.E{Key: "cursorsKilled", Value: ids})
}

// shutDown is what a member does before it ends by SIGTERM: a primary hands over, and the journal is written.
func (r *replica) shutDown() {
	r.mu.Lock()
	if r.state == stPrimary && !r.alone() {
		r.handOver(shutdownTime, time.Minute)
	}
	r.mu.Unlock()
	r.writeJournal()
}

// shutdownTime is how long a primary that ends waits for a secondary to catch up (manual: "Server Parameters",
// shutdownTimeoutMillisForSignaledShutdown).
const shutdownTime = 15 * time.Second
