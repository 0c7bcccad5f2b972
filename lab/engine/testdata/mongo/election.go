package main

import (
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// watchElections looks after who is primary, for as long as the member runs.
func (r *replica) watchElections() {
	for range time.Tick(20 * time.Millisecond) {
		r.mu.Lock()
		why := r.occasion()
		r.mu.Unlock()
		if why != "" {
			r.stand(why)
		}
	}
}

// occasion says why this member has to stand for election now (manual: "Replica Set Elections"). The first election of
// a set does not wait for the election timeout, as it would in a real one: tests start many sets.
func (r *replica) occasion() string {
	me := r.me()
	if me == nil || me.arbiter || r.s.is("never-elects") || r.s.is("first-elects") && r.first().host != me.host {
		return ""
	}
	if r.state == stPrimary {
		if r.reached() <= r.votes()/2 {
			r.stepDown("no majority can be reached")
		}
		return ""
	}
	if r.state != stSecondary || me.priority == 0 || time.Now().Before(r.frozen) {
		return ""
	}
	switch {
	case r.term == 0 && r.first().host == me.host && r.reached() > r.votes()/2:
		return "the set is new"
	case time.Since(r.heard) > r.patience:
		return "no primary was heard for the election timeout"
	case r.outranks(me):
		return "the primary has a lower priority"
	}
	return ""
}

// outranks says whether the member should take over from a primary of lower priority, which it has caught up with and
// which has led for the election timeout.
func (r *replica) outranks(me *member) bool {
	p := r.peers[r.primary]
	if p == nil || p.elected.IsZero() || time.Since(p.elected) < r.rules.election || r.last().compare(p.applied) < 0 {
		return false
	}
	for _, m := range r.members {
		if m.host == r.primary {
			return m.priority < me.priority
		}
	}
	return false
}

// first is the member that becomes the first primary.
func (r *replica) first() member {
	best := r.members[0]
	for _, m := range r.members {
		if m.priority > best.priority {
			best = m
		}
	}
	return best
}

func (r *replica) votes() (n int) {
	for _, m := range r.members {
		n += m.votes
	}
	return n
}

// reached is how many votes there are of members that were heard within the election timeout.
func (r *replica) reached() (n int) {
	for _, m := range r.members {
		if p := r.peers[m.host]; m.host == r.s.address || p != nil && time.Since(p.heard) < r.rules.election {
			n += m.votes
		}
	}
	return n
}

// stand asks for the votes of a new term. Before that it asks whether it would get them, so that a member that nobody
// hears does not go from term to term: the others would have to follow it when it comes back.
func (r *replica) stand(why string) {
	for _, dry := range []bool{true, false} {
		r.mu.Lock()
		me := r.me()
		if r.state != stSecondary || me == nil || me.priority == 0 || r.s.is("never-elects") {
			r.mu.Unlock()
			return
		}
		term := r.term + 1
		r.expect()
		if !dry {
			r.term, r.voted, r.primary = term, r.s.address, ""
			r.save()
			r.s.log("I", "Starting an election", map[string]any{"why": why, "term": term})
		}
		ask := bson.D{{Key: "replSetRequestVotes", Value: 1}, {Key: "term", Value: term}, {Key: "dryRun", Value: dry}, {Key: "candidate", Value: r.s.address},
			{Key: "set", Value: r.s.args["replSet"]}, {Key: "applied", Value: r.last().doc()}}
		members, need, limit := r.members, r.votes()/2+1, r.rules.election
		r.mu.Unlock()
		if !r.poll(members, need, limit, ask) {
			return
		}
		if !dry {
			r.win(term)
		}
	}
}

// poll asks all members for their votes, and says whether they are enough as soon as that is known.
func (r *replica) poll(members []member, need int, limit time.Duration, ask bson.D) bool {
	got := make(chan int, len(members))
	var all sync.WaitGroup
	for _, m := range members {
		all.Go(func() {
			if m.votes == 0 || m.host == r.s.address {
				got <- m.votes
				return
			}
			l := link{to: m.host, tls: r.s.tls}
			defer l.close()
			reply, err := l.ask(limit, ask)
			if err == nil {
				r.mu.Lock()
				r.meet(int64(number(reply, "term")))
				r.mu.Unlock()
			}
			if err == nil && get(reply, "granted") == true {
				got <- m.votes
				return
			}
			got <- 0
		})
	}
	go func() { all.Wait(); close(got) }()
	votes := 0
	for n := range got {
		if votes += n; votes >= need {
			return true
		}
	}
	return false
}

// vote gives at most one vote in each term, and none to who has less than this member. A dry run only says what it
// would be.
func (r *replica) vote(command bson.D) bson.D {
	term, dry := int64(number(command, "term")), get(command, "dryRun") == true
	if !dry {
		r.meet(term)
	}
	candidate := text(command, "candidate")
	granted := r.config != nil && text(command, "set") == r.s.args["replSet"] && optimeOf(sub(command, "applied")).compare(r.last()) >= 0 &&
		(dry && term > r.term || !dry && term == r.term && (r.voted == "" || r.voted == candidate))
	if granted && !dry {
		r.voted = candidate
		r.save()
		r.expect()
	}
	return good(bson.E{Key: "term", Value: r.term}, bson.E{Key: "granted", Value: granted})
}

// win makes the member the primary of a term, whose first entry it writes.
func (r *replica) win(term int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.term != term || r.state != stSecondary {
		return
	}
	r.primary, r.elected, r.stepping = r.s.address, time.Now(), false
	for _, p := range r.peers {
		p.heard = time.Now()
	}
	r.turn(stPrimary)
	r.append(&entry{Op: "n"})
	r.flush()
	r.beatAll()
	go r.publish()
}

// handOver is "replSetStepDown": the primary takes no writes any more, waits until an electable secondary has
// everything, becomes a secondary and asks that one to stand.
//
// Where there is no such secondary it does not wait for one to come.
func (r *replica) handOver(catchUp, frozen time.Duration) bool {
	end := time.Now().Add(catchUp)
	for r.state == stPrimary && r.s.args["replSet"] != "" {
		r.stepping = true
		host, some := r.caughtUp()
		switch {
		case host != "":
			r.frozen = time.Now().Add(frozen)
			r.stepDown("it hands over")
			r.beatAll()
			go func() {
				l := link{to: host, tls: r.s.tls}
				defer l.close()
				_, _ = l.ask(r.rules.timeout, bson.D{{Key: "replSetStepUp", Value: 1}}) // without it the others wait for the election timeout
			}()
			return true
		case !time.Now().Before(end) || !some:
			r.stepping = false
			return false
		}
		r.wait(min(time.Until(end), 50*time.Millisecond))
	}
	return r.state != stPrimary
}

// caughtUp is an electable secondary that has everything; some says whether there is one that may come to that.
func (r *replica) caughtUp() (host string, some bool) {
	for _, m := range r.members {
		p := r.peers[m.host]
		if p == nil || m.arbiter || m.priority == 0 || p.state != stSecondary {
			continue
		}
		some = true
		if p.applied.compare(r.last()) >= 0 {
			return m.host, true
		}
	}
	return "", some
}
