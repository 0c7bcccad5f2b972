package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
	facts "github.com/plimsoll-bench/plimsoll/server"
)

// members checks the set of a server: who answers, what may still fail, and what differs between members.
func members(in Input) []record.DoctorFinding {
	if len(in.Server.Members) == 0 {
		return nil
	}
	list := answering(in.Server)
	list = append(list, spare(in.Server)...)
	list = append(list, releases(in.Server)...)
	list = append(list, elections(in.Server)...)
	list = append(list, clocks(in.Server)...)
	return append(list, lags(in.Server)...)
}

// inService reports whether a member answers and does what members do.
func inService(m facts.MemberFacts) bool {
	return m.Problem == "" && slices.Contains([]string{"primary", "secondary", "arbiter"}, m.State)
}

func answering(s *facts.Facts) []record.DoctorFinding {
	const id, why = "members", "without it the set is closer to losing its majority, and its data are older"
	var missing []string
	for _, m := range s.Members {
		switch {
		case m.Problem != "":
			missing = append(missing, fmt.Sprintf("%s does not answer (%s)", m.Address, firstLine(m.Problem)))
		case !inService(m):
			missing = append(missing, fmt.Sprintf("%s is %s", m.Address, m.State))
		}
	}
	all := figure.Plural(len(s.Members), "member")
	if len(missing) == 0 {
		return one(server, id, record.DoctorGood, "all of "+all+" are in service", "all in service", why, "")
	}
	return one(server, id, record.DoctorWarning, strings.Join(missing, "; ")+", of "+all, "all in service", why,
		"start it, wait for its initial sync, or remove it from the set with rs.remove()")
}

// firstLine shortens a message of the driver to its cause.
func firstLine(text string) string {
	const most = 120
	text, _, _ = strings.Cut(text, "\n")
	if at := strings.LastIndex(text, "dial tcp"); at >= 0 {
		text = text[at:]
	}
	if len(text) > most {
		text = text[:most] + "…"
	}
	return text
}

// spare compares the members in service with what an election and a majority write need. A write with w:majority needs
// the majority of the voting members, but no more than have data (manual: write concern "majority").
func spare(s *facts.Facts) []record.DoctorFinding {
	const id, should = "majority", "one more may fail: three voting members with data, all in service"
	const why = "without a majority there is no primary, and without a majority with data writes with w:majority wait"
	if len(s.Config.Members) == 0 {
		return unknown(server, id, should, "the configuration of the set (replSetGetConfig) was not answered")
	}
	up := map[string]bool{}
	for _, m := range s.Members {
		up[m.Address] = inService(m)
	}
	voting, data, votingUp, dataUp := 0, 0, 0, 0
	for _, m := range s.Config.Members {
		if m.Votes == 0 {
			continue
		}
		voting++
		if up[m.Host] {
			votingUp++
		}
		if m.Arbiter {
			continue
		}
		data++
		if up[m.Host] {
			dataUp++
		}
	}
	majority := voting/2 + 1
	writes := min(majority, data)
	is := fmt.Sprintf("%d of %s in service, %d with data; an election needs %d, w:majority %d with data",
		votingUp, figure.Plural(voting, "voting member"), dataUp, majority, writes)
	left := min(votingUp-majority, dataUp-writes)
	severity := record.DoctorGood
	switch {
	case left < 0:
		severity, is = record.DoctorCritical, "no majority: "+is
	case left == 0:
		severity, is = record.DoctorWarning, "none may fail: "+is
	}
	return one(server, id, severity, is, should, why, "start the members that do not answer, or add members with data")
}

func releases(s *facts.Facts) []record.DoctorFinding {
	by := map[string][]string{}
	for _, m := range s.Members {
		if m.Release != "" {
			by[m.Release] = append(by[m.Release], m.Address)
		}
	}
	var is []string
	for release, who := range by {
		is = append(is, release+" on "+strings.Join(who, ", "))
	}
	if len(by) == 0 {
		return nil
	}
	slices.Sort(is)
	return one(server, "member-versions", either(len(by) == 1, record.DoctorWarning), strings.Join(is, "; "), "one release",
		"mixed releases are for the time of an upgrade only: features are off, and a failover changes the behaviour", "finish the upgrade")
}

// defaultElection is settings.electionTimeoutMillis of a set that does not say it (manual: replica set configuration).
const defaultElection = 10 * time.Second

func elections(s *facts.Facts) []record.DoctorFinding {
	if len(s.Config.Members) == 0 {
		return nil
	}
	timeout := defaultElection
	if ms, ok := facts.Number(s.Config.Raw, "settings", "electionTimeoutMillis"); ok {
		timeout = time.Duration(ms) * time.Millisecond
	}
	list := one(server, "election-timeout", either(timeout == defaultElection, record.DoctorAdvice), figure.Duration(timeout), "10 s (the default)",
		"a shorter time makes pauses into elections, a longer one makes failovers longer", "measure both with plimsoll drill, then set settings.electionTimeoutMillis")
	electable := 0
	for _, m := range s.Config.Members {
		if m.Priority > 0 && !m.Arbiter {
			electable++
		}
	}
	return append(list, one(server, "electable-members", either(electable > 1, record.DoctorWarning),
		figure.Plural(electable, "member")+" may become primary", "two or more", "a set fails over only to members with a priority above 0", "set members[n].priority")...)
}

// mostClocks is the largest difference of clocks without a finding. MongoDB states no limit; NTP keeps a second easily.
const mostClocks = time.Second

// clocks compares the clocks of the members. Their difference is known to within half of both round trips.
func clocks(s *facts.Facts) []record.DoctorFinding {
	var worst, within time.Duration
	var who [2]string
	known := 0
	for i, a := range s.Members {
		if a.Problem != "" {
			continue
		}
		known++
		for _, b := range s.Members[:i] {
			if b.Problem != "" {
				continue
			}
			if apart := (a.Clock - b.Clock).Abs(); apart-a.Within-b.Within > worst-within || who[0] == "" {
				worst, within, who = apart, a.Within+b.Within, [2]string{b.Address, a.Address}
			}
		}
	}
	if known < 2 {
		return nil
	}
	return one(server, "clocks", either(worst-within <= mostClocks, record.DoctorWarning),
		fmt.Sprintf("%s ± %s between %s and %s", figure.Duration(worst.Round(time.Millisecond)),
			figure.Duration(within.Round(time.Millisecond)), who[0], who[1]),
		"at most a second, with NTP", "logs, TTL indexes and timestamps of applications follow the clock of the primary", "synchronise the clocks (chronyc tracking)")
}

// mostLag is the largest lag without a finding.
const mostLag = 10 // seconds

func lags(s *facts.Facts) []record.DoctorFinding {
	newest := uint32(0)
	for _, m := range s.Members {
		newest = max(newest, m.LastWrite)
	}
	var late []string
	for _, m := range s.Members {
		if m.LastWrite > 0 && newest-m.LastWrite > mostLag && !delayed(s.Config, m.Address) {
			late = append(late, fmt.Sprintf("%s is %d s behind", m.Address, newest-m.LastWrite))
		}
	}
	if len(late) == 0 {
		return nil
	}
	return one(server, "replication-lag", record.DoctorWarning, strings.Join(late, "; "), "at most 10 s behind",
		"a late member makes w:majority slow, and after a failover it rolls back or lacks writes", "look for what limits it: disk, network, cache")
}

func delayed(c facts.Config, host string) bool {
	return slices.ContainsFunc(c.Members, func(m facts.ConfigMember) bool { return m.Host == host && m.DelaySeconds > 0 })
}
