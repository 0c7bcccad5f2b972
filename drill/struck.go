package drill

import (
	"slices"

	"github.com/plimsoll-bench/plimsoll/record"
)

// primary says whether a member that was struck was a primary, or the only member.
func (x *broken) primary(set string) bool {
	return slices.ContainsFunc(x.struck, func(m record.LabMember) bool {
		return m.Set == set && (m.Role == "primary" || m.Role == "standalone")
	})
}

// anyPrimary says whether a primary of any set was struck.
func (x *broken) anyPrimary() bool {
	return slices.ContainsFunc(x.struck, func(m record.LabMember) bool { return x.primary(m.Set) })
}

// addData adds the names of the members of a set that hold data and were struck.
func (x *broken) addData(set string, to map[string]bool) {
	for _, m := range x.struck {
		if m.Set == set && holdsData(m) {
			to[m.Name] = true
		}
	}
}

// tookPrimary says whether something was broken that takes a primary away, or somebody else broke something.
func (b *breaker) tookPrimary() bool {
	for _, x := range b.list() {
		if x.injected && (x.spec.Strike == externalFault || x.anyPrimary() && x.unseats()) {
			return true
		}
	}
	return false
}

// mustChange are the sets in which another member had to become the primary.
func (b *breaker) mustChange() (sets []string) {
	if b.x.before.Specification.Availability.NoPromotion {
		return nil
	}
	for _, set := range setsOf(b.x.before) {
		members := membersOf(b.x.before, set)
		if members < 2 || members-b.struck(set) <= members/2 { // what is left is no majority, or there is nobody else
			continue
		}
		for _, x := range b.list() {
			if x.injected && x.primary(set) && x.unseats() {
				sets = append(sets, set)
				break
			}
		}
	}
	return sets
}

// stayed are those of some sets in which no other member was seen to be the primary. Of a lab with one set a client's view counts
// too, which does not say of which set it speaks.
func (x *round) stayed(sets []string) (list []string) {
	for _, set := range sets {
		if !x.changedIn[set] && !(x.changed && len(setsOf(x.before)) == 1) {
			list = append(list, set)
		}
	}
	return list
}

// struck is how many members with data of one set were down or away at the same time, at most.
func (b *breaker) struck(set string) int {
	list := b.list()
	most := 0
	for _, x := range list {
		away := map[string]bool{} // one that is struck twice is away once
		for _, y := range list {
			if !y.injected || !y.takesDown() {
				continue
			}
			if !y.what.Asked.After(x.what.Asked) && (y.healed.IsZero() || y.healed.After(x.what.Asked)) {
				y.addData(set, away)
			}
		}
		most = max(most, len(away))
	}
	return most
}

// struckMost is the set of which the greatest share was down at the same time: how many of its members with data, of how many. Of a
// target that is no lab it is what its set says of itself.
func (x *round) struckMost() (struck, members int) {
	if x.lab == nil {
		return 0, len(x.identity.Hello.Data())
	}
	for _, set := range setsOf(x.before) {
		s, m := x.breaks.struck(set), membersOf(x.before, set)
		if members == 0 || s*members > struck*m {
			struck, members = s, m
		}
	}
	return struck, members
}

// setsOf are the replica sets of a lab that hold data; members without one are a set.
func setsOf(l record.Lab) (sets []string) {
	for _, m := range l.Members {
		if holdsData(m) && !slices.Contains(sets, m.Set) {
			sets = append(sets, m.Set)
		}
	}
	return sets
}

// membersOf is how many members of a set hold data.
func membersOf(l record.Lab, set string) (n int) {
	for _, m := range l.Members {
		if m.Set == set && holdsData(m) {
			n++
		}
	}
	return n
}

// shardsOf are the shards of a sharded lab of which a fault struck a member with data.
func (x *round) shardsOf(b *broken) (names []string) {
	if !x.sharded() {
		return nil
	}
	for _, m := range b.struck {
		if holdsData(m) && m.Set != "" && !slices.Contains(names, m.Set) {
			names = append(names, m.Set)
		}
	}
	return names
}
