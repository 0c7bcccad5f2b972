package drill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// lookEvery is how often the lab is asked how it stands.
const lookEvery = 500 * time.Millisecond

// guard looks, while the load goes on and after the last fault was healed, when everything is as it was. The
// replication of what is being written is never quite done, so a little lag is none here; afterwards there must be none
// at all.
func (r *round) guard(ctx context.Context, healed <-chan struct{}) {
	select {
	case <-healed:
	case <-ctx.Done():
		return
	}
	for ctx.Err() == nil {
		l, err := r.lab.Look(ctx)
		if err == nil && ctx.Err() == nil && r.notWhole(l, lagUnderLoad) == "" && lacking(l) == "" {
			r.redundant = time.Now()
			return
		}
		if err == nil {
			r.repair(ctx, l)
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
		}
	}
}

// lag is how much a member may be behind to count as up to date.
type lag struct {
	bytes   int64
	seconds float64
}

var (
	noLag        = lag{0, 0}
	lagUnderLoad = lag{256 << 10, 2}
)

// recover waits until everything of the lab is as it was: members run, nothing is behind, volumes are healthy. It
// returns when that was, zero if it did not come in time.
func (r *round) recover(ctx context.Context) time.Time {
	if r.lab == nil {
		return time.Time{}
	}
	r.drill.progress.enter(record.StageRecovery)
	r.drill.o.Progress.Note("waiting until redundancy is back")
	ctx, cancel := context.WithTimeout(ctx, r.drill.spec.Recovery.Std())
	defer cancel()
	missing := "nobody said how it stands"
	for {
		l, err := r.lab.Look(ctx)
		if errors.Is(err, lab.ErrGone) { // and with it all members, which end with it
			r.result.Problem = "nothing heals in it any more: " + err.Error()
			r.dead = err
			return time.Time{}
		}
		if err == nil {
			r.compare(l)
			missing = r.notWhole(l, noLag)
			if missing == "" {
				if r.result.Problem = lacking(l); r.result.Problem != "" {
					return time.Time{}
				}
				if r.redundant.IsZero() {
					return time.Now()
				}
				return r.redundant
			}
			r.repair(ctx, l)
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			r.result.Problem = fmt.Sprintf("redundancy was not back %v after the load: %s%s", r.drill.spec.Recovery, missing, r.notRebuilt)
			return time.Time{}
		}
	}
}

// compare looks whether another member is the primary than before.
func (r *round) compare(now record.Lab) {
	was, is := primaries(r.before), primaries(now)
	for set, name := range is {
		if was[set] != "" && was[set] != name {
			r.changedPrimary(set)
		}
	}
}

// changedPrimary notes that another member became the primary of a set.
func (r *round) changedPrimary(set string) {
	r.changed = true
	if r.changedIn == nil {
		r.changedIn = map[string]bool{}
	}
	r.changedIn[set] = true
}

// primaries are the primaries of all sets.
func primaries(l record.Lab) map[string]string {
	by := map[string]string{}
	for _, m := range l.Members {
		if m.Role == "primary" {
			by[m.Set] = m.Name
		}
	}
	return by
}

// notWhole says what of the lab is not as it was, "" if everything is but for what is meant to stay broken until the
// audit. Another fault that is still there could not be healed, and all that it touches is not as it was.
func (r *round) notWhole(now record.Lab, allowed lag) string {
	meant := map[int]bool{}
	for _, b := range r.breaks.list() {
		r.breaks.set(func() { meant[b.ID] = b.spec.Stay && b.Injected() })
	}
	var missing []string
	for _, f := range now.Faults {
		if !meant[f.ID] {
			missing = append(missing, fmt.Sprintf("%s %s is still in place", f.Action, f.Target))
		}
	}
	if text := notWhole(r.before, now, allowed); text != "" {
		missing = append(missing, text)
	}
	return strings.Join(missing, ", ")
}

// notWhole says what of a lab is not as it was, "" if everything is. Faults that stay are known.
func notWhole(before, now record.Lab, allowed lag) string {
	var missing []string
	stays := map[string]bool{}
	for _, f := range now.Faults {
		stays[f.Target] = true
	}
	for _, m := range now.Members {
		if stays[m.Name] || stays[m.Host] {
			continue
		}
		switch {
		case m.State != "running":
			missing = append(missing, fmt.Sprintf("%s is %s", m.Name, m.State))
		case roleOf(before, m.Name) != "" && (m.Role == "" || m.Role == "unknown"):
			missing = append(missing, m.Name+" has no role")
		case m.LagBytes == nil && m.LagSeconds == nil && m.Role == "secondary" && follows(before, m.Name):
			missing = append(missing, m.Name+" does not receive from the primary")
		case m.LagBytes != nil && *m.LagBytes > allowed.bytes:
			missing = append(missing, fmt.Sprintf("%s is %d bytes behind", m.Name, *m.LagBytes))
		case m.LagBytes == nil && m.LagSeconds != nil && *m.LagSeconds > allowed.seconds:
			missing = append(missing, fmt.Sprintf("%s is %s behind", m.Name, secondsText(*m.LagSeconds)))
		}
	}
	is := primaries(now)
	for set, name := range primaries(before) {
		if is[set] == "" { // a member that is dead for good is passed over above, and its place is not
			missing = append(missing, fmt.Sprintf("nobody is the primary in the place of %s", name))
		}
	}
	for _, v := range now.Volumes {
		if v.Health == "degraded" || v.Health == "repairing" || v.Health == "failed" {
			if !stays[v.Name] && !anyDisk(now.Faults, v.Name) && onDead(v, now.Faults) == "" {
				missing = append(missing, fmt.Sprintf("the volume %s is %s", v.Name, v.Health))
			}
		}
	}
	return strings.Join(missing, ", ")
}

// lacking says which members are away and which volumes lack copies as long as a host stays dead, "" if none does.
// Waiting for them would be in vain.
func lacking(l record.Lab) string {
	var volumes, hosts, away []string
	for _, m := range l.Members {
		if holdsData(m) && m.State != "running" && slices.ContainsFunc(l.Faults, func(f record.LabFault) bool {
			return f.Target == m.Host
		}) {
			away = append(away, m.Name)
			if !slices.Contains(hosts, m.Host) {
				hosts = append(hosts, m.Host)
			}
		}
	}
	for _, v := range l.Volumes {
		if host := onDead(v, l.Faults); host != "" && v.Health != "healthy" {
			volumes = append(volumes, v.Name)
			if !slices.Contains(hosts, host) {
				hosts = append(hosts, host)
			}
		}
	}
	var what []string
	if len(away) > 0 {
		what = append(what, strings.Join(away, " and ")+" is away")
	}
	if len(volumes) > 0 {
		what = append(what, "copies are missing of the volumes "+strings.Join(volumes, ", "))
	}
	if len(what) == 0 {
		return ""
	}
	return fmt.Sprintf("redundancy was not all back: as long as %s stays dead, %s", strings.Join(hosts, " and "), strings.Join(what, ", and "))
}

// onDead is the host of one of a volume's disks that is broken, "" if there is none.
func onDead(v record.LabVolume, faults []record.LabFault) string {
	for _, f := range faults {
		if slices.ContainsFunc(v.Disks, func(d record.LabDisk) bool { return d.Host == f.Target }) {
			return f.Target
		}
	}
	return ""
}

func anyDisk(faults []record.LabFault, volume string) bool {
	for _, f := range faults {
		if strings.HasPrefix(f.Target, volume+"/") {
			return true
		}
	}
	return false
}

// follows says whether it is told of some member of a lab how far it is behind: then it is told of all that receive.
func follows(l record.Lab, member string) bool {
	set := ""
	for _, m := range l.Members {
		if m.Name == member {
			set = m.Set
		}
	}
	return slices.ContainsFunc(l.Members, func(m record.LabMember) bool {
		return m.Set == set && (m.LagBytes != nil || m.LagSeconds != nil)
	})
}

func roleOf(l record.Lab, member string) string {
	for _, m := range l.Members {
		if m.Name == member && m.Role != "unknown" {
			return m.Role
		}
	}
	return ""
}

// clockSlack is how much the wall clock may go another way than the monotonic one in a round: time servers make it a
// little faster or slower all the time.
const clockSlack = 100 * time.Millisecond

// checkClock looks whether somebody set the wall clock since the load began: since then it and the monotonic clock went
// on by so much. What this process saw has times of the one, what the lab told those of the other.
func (r *round) checkClock(wall, monotonic time.Duration) {
	by := wall - monotonic
	if by.Abs() > clockSlack+monotonic/1000 {
		r.drill.find("clock-set", measure.Warning, "the wall clock of this machine was set by %v during round %d: promotions, elections and heals may stand so far off on the timeline",
			by.Round(time.Millisecond), r.result.Number)
	}
}

// timeline puts what happened on one clock.
func (r *round) timeline(ctx context.Context, redundant time.Time) {
	if r.courses == nil {
		return
	}
	c := r.clock()
	if r.lab != nil {
		now := time.Now()
		r.checkClock(now.Round(0).Sub(r.zero.Round(0)), now.Sub(r.zero))
	}
	var events []record.LabEvent
	if r.lab != nil {
		events, _ = r.lab.EventsSince(ctx, r.seq) // what is missing is not on the timeline
		for _, e := range events {
			if momentOf(e) == record.MomentElected {
				r.changedPrimary(e.Data["set"])
			}
		}
		used := r.resources(ctx)
		r.result.CPUSeconds, r.result.WrittenBytes = max(0, used.cpu-r.used.cpu), max(0, used.written-r.used.written)
	}
	events = append(events, r.views(c)...)
	r.result.Moments = timelineOf(r.result, r.scopes(), events, c, r.shift)
	newPrimaries(r.result)
	if !redundant.IsZero() && broke(r.result.Faults) {
		r.result.Moments = append(r.result.Moments, record.DrillMoment{Kind: record.MomentRedundant, At: c.at(redundant),
			Fault: lastBefore(r.result.Faults, c.at(redundant)),
			Text:  "all members run, none is behind, all volumes are healthy"})
		slices.SortStableFunc(r.result.Moments, earlier)
	}
}
