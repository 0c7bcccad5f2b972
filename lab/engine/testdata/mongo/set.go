package main

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// dispatchSet knows the commands of replica sets.
func (s *server) dispatchSet(st *state, name string, command bson.D) bson.D {
	rs := st.set(s)
	if name == "replSetInitiate" {
		return s.initiate(st, command)
	}
	if rs == nil || s.is("not-initialized") {
		return failed(94, "NotYetInitialized", "no replset config has been received")
	}
	switch name {
	case "replSetGetStatus":
		return s.status(st, rs)
	case "replSetGetConfig":
		return good(bson.E{Key: "config", Value: rs.config()})
	case "replSetReconfig":
		return s.reconfigure(rs, command)
	case "replSetStepDown":
		return s.stepDown(st, rs, command)
	}
	return failed(59, "CommandNotFound", "no such command: '"+name+"'")
}

// initiate checks a configuration as the manual says ("replSetInitiate", "Self-Managed Replica Set Configuration").
func (s *server) initiate(st *state, command bson.D) bson.D {
	config := sub(command, "replSetInitiate")
	name := text(config, "_id")
	if st.Sets[name] != nil {
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
	rs := &replicaSet{Config: raw, Version: 1, Frozen: map[string]time.Time{}, Users: map[string]credential{}}
	st.Sets[name] = rs
	return good()
}

// The states of members (manual: "Replica Set Member States").
var stateWords = map[int]string{1: "PRIMARY", 2: "SECONDARY", 7: "ARBITER", 8: "(not reachable/healthy)"}

func (s *server) status(st *state, rs *replicaSet) bson.D {
	members := bson.A{}
	mine := 0
	for _, m := range rs.members() {
		state, health := 2, 1.0
		switch {
		case !st.alive(m.host):
			state, health = 8, 0
		case m.arbiter:
			state = 7
		case m.host == rs.Primary:
			state = 1
		}
		d := bson.D{{Key: "_id", Value: int32(m.id)}, {Key: "name", Value: m.host}, {Key: "health", Value: health},
			{Key: "state", Value: int32(state)}, {Key: "stateStr", Value: stateWords[state]}}
		if state == 1 {
			d = append(d, bson.E{Key: "electionDate", Value: rs.Elected})
		}
		if state == 1 || state == 2 {
			d = append(d, bson.E{Key: "optime", Value: optime(rs.Committed)}, bson.E{Key: "optimeDate", Value: time.Unix(1_700_000_000+rs.Committed, 0)})
		}
		if m.host == s.address {
			mine = state
			d = append(d, bson.E{Key: "self", Value: true})
		}
		members = append(members, d)
	}
	return good(bson.E{Key: "set", Value: s.args["replSet"]}, bson.E{Key: "myState", Value: int32(mine)}, bson.E{Key: "term", Value: rs.Term},
		bson.E{Key: "optimes", Value: bson.D{{Key: "lastCommittedOpTime", Value: optime(rs.Committed)}}}, bson.E{Key: "members", Value: members})
}

func (s *server) reconfigure(rs *replicaSet, command bson.D) bson.D {
	config := sub(command, "replSetReconfig")
	if rs.Primary != s.address {
		return notPrimary()
	}
	if int(number(config, "version")) <= rs.Version {
		return failed(103, "NewReplicaSetConfigurationIncompatible", "version field value of the new config is not greater")
	}
	raw, err := bson.Marshal(config)
	check(err)
	rs.Config, rs.Version = raw, int(number(config, "version"))
	return good()
}

// stepDown hands over to an electable member (manual: "replSetStepDown").
func (s *server) stepDown(st *state, rs *replicaSet, command bson.D) bson.D {
	if rs.Primary != s.address {
		return notPrimary()
	}
	seconds, catchUp := number(command, "replSetStepDown"), number(command, "secondaryCatchUpPeriodSecs")
	if seconds <= catchUp {
		return failed(2, "BadValue", "stepdown period must be longer than secondaryCatchUpPeriodSecs")
	}
	for _, m := range rs.members() {
		if m.host != s.address && !m.arbiter && m.priority > 0 && st.alive(m.host) {
			rs.Frozen[s.address] = time.Now().Add(time.Duration(seconds) * time.Second)
			rs.Primary = ""
			return good()
		}
	}
	return failed(262, "ExceededTimeLimit", "No electable secondaries caught up as of now. Please use the replSetStepDown command with the argument {force: true} to force node to step down.")
}
