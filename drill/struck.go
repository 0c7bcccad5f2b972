package drill

import (
	"slices"

	"github.com/plimsoll-bench/plimsoll/record"
)

// primary says whether a member that was struck was a primary, or the only member.
func (one *roundFault) primary(set string) bool {
	return slices.ContainsFunc(one.struck, func(m record.LabMember) bool {
		return m.Set == set && (m.Role == "primary" || m.Role == "standalone")
	})
}

// anyPrimary says whether a primary of any set was struck.
func (one *roundFault) anyPrimary() bool {
	return slices.ContainsFunc(one.struck, func(m record.LabMember) bool { return one.primary(m.Set) })
}

// addData adds the names of the members of a set that hold data and were struck.
func (one *roundFault) addData(set string, to map[string]bool) {
	for _, m := range one.struck {
		if m.Set == set && holdsData(m) {
			to[m.Name] = true
		}
	}
}

// tookPrimary says whether something was broken that takes a primary away, or somebody else broke something.
func (b *breaker) tookPrimary() bool {
	for _, one := range b.list() {
		if one.Injected() && (one.spec.Strike == externalFault || one.anyPrimary() && one.unseats()) {
			return true
		}
	}
	return false
}

// mustChange are the sets in which another member had to become the primary.
func (b *breaker) mustChange() (sets []string) {
	if b.round.before.Specification.Availability.NoPromotion {
		return nil
	}
	for _, set := range setsOf(b.round.before) {
		members := membersOf(b.round.before, set)
		if members < 2 || members-b.struck(set) <= members/2 { // what is left is no majority, or there is nobody else
			continue
		}
		for _, one := range b.list() {
			if one.Injected() && one.primary(set) && one.unseats() {
				sets = append(sets, set)
				break
			}
		}
	}
	return sets
}

// stayed are those of some sets in which no other member was seen to be the primary. Of a lab with one set a client's
// view counts too, which does not say of which set it speaks.
func (r *round) stayed(sets []string) (list []string) {
	for _, set := range sets {
		if !r.changedIn[set] && !(r.changed && len(setsOf(r.before)) == 1) {
			list = append(list, set)
		}
	}
	return list
}

// struck is how many members with data of one set were down or away at the same time, at most.
func (b *breaker) struck(set string) int {
	list := b.list()
	most := 0
	for _, one := range list {
		away := map[string]bool{} // one that is struck twice is away once
		for _, y := range list {
			if !y.Injected() || !y.takesDown() {
				continue
			}
			if !y.Requested.After(one.Requested) && (y.Healed.IsZero() || y.Healed.After(one.Requested)) {
				y.addData(set, away)
			}
		}
		most = max(most, len(away))
	}
	return most
}

// struckMost is the set of which the greatest share was down at the same time: how many of its members with data, of
// how many. Of a target that is no lab it is what its set says of itself.
func (r *round) struckMost() (struck, members int) {
	if r.lab == nil {
		return 0, len(r.identity.Hello.Data())
	}
	for _, set := range setsOf(r.before) {
		s, m := r.breaks.struck(set), membersOf(r.before, set)
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
func (r *round) shardsOf(b *roundFault) (names []string) {
	if !r.sharded() {
		return nil
	}
	for _, m := range b.struck {
		if holdsData(m) && m.Set != "" && !slices.Contains(names, m.Set) {
			names = append(names, m.Set)
		}
	}
	return names
}
