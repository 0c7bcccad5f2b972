package drill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/record"
)

// pollEvery is how often the lab is polled for its state.
const pollEvery = 500 * time.Millisecond

// redundancy finds out when the lab is as it was before the load, and has volumes rebuilt that lack a copy.
type redundancy struct {
	drill     *runner
	target    *target
	scheduler *scheduler
	primaries *primaries
	events    *events

	restored   time.Time // zero if it was not seen
	problem    string    // why it was not restored
	rebuilt    []string  // volumes
	notRebuilt string    // why one could not be rebuilt, to be appended to problem
	dead       error     // the lab is gone with its supervisor, so no member can be read
}

// watch waits for redundancy during the load, after the last fault was healed. Members are never quite up to
// date then, so a small lag is allowed.
func (r *redundancy) watch(ctx, after context.Context) {
	select {
	case <-r.scheduler.waiting():
	case <-ctx.Done():
		return
	}
	for ctx.Err() == nil {
		l, err := r.observe(ctx)
		if err == nil && ctx.Err() == nil && r.missing(l, lagUnderLoad) == "" && deadHosts(l) == "" {
			r.restored = time.Now()
			return
		}
		if err == nil {
			r.rebuild(after, l)
		}
		_ = wait.Sleep(ctx, pollEvery)
	}
}

// wait returns when redundancy is restored, or when it is clear that it is not. Members must be fully up to date.
func (r *redundancy) wait(ctx context.Context) {
	if r.target.platform == nil {
		return
	}
	r.drill.progress.enter(record.StageRecovery)
	r.drill.progress.Note("waiting until redundancy is restored")
	already := r.restored
	r.restored = time.Time{}
	missing := "the members could not be queried"
	restoring := wait.Wait{Name: "redundancy after the load", Limit: r.drill.spec.Recovery.Std()}
	err := restoring.Do(ctx, func(limited context.Context) error {
		for {
			l, err := r.observe(limited)
			if errors.Is(err, lab.ErrGone) { // its members end with it
				r.dead = err
				return nil
			}
			if err == nil {
				r.primaries.compare(r.target.before, l)
				if missing = r.missing(l, lag{}); missing == "" {
					r.seen(l, already)
					return nil
				}
				wait.Report(limited, missing)
				wait.Advance(limited, wait.Part{Name: restoring.Name, Status: missing, Limit: restoring.Limit})
				r.rebuild(ctx, l)
			}
			if err := wait.Sleep(limited, pollEvery); err != nil {
				return err
			}
		}
	})
	switch {
	case r.dead != nil:
		r.problem = "the lab cannot restore redundancy: " + r.dead.Error()
	case err != nil:
		r.problem = fmt.Sprintf("redundancy was not restored within %v after the load: %s%s",
			r.drill.spec.Recovery, missing, r.notRebuilt)
		if ctx.Err() != nil {
			r.problem = fmt.Sprintf("redundancy was not restored before the drill was interrupted: %s%s", missing, r.notRebuilt)
		}
	}
}

// seen notes that nothing is missing, except what hosts lack that stay dead.
func (r *redundancy) seen(l record.Lab, already time.Time) {
	if r.problem = deadHosts(l); r.problem != "" {
		return
	}
	if r.restored = already; already.IsZero() {
		r.restored = time.Now()
	}
}

// observe returns the lab as it is now. Of another platform, it is the members and the faults that are in place.
func (r *redundancy) observe(ctx context.Context) (record.Lab, error) {
	if r.target.lab != nil {
		return r.target.lab.Observe(ctx)
	}
	members, err := r.target.platform.Members(ctx)
	return record.Lab{Members: members, Faults: r.scheduler.inPlace()}, err
}

// restoredText says what restored redundancy means on this platform.
func (r *redundancy) restoredText() string {
	if r.target.lab == nil {
		return "all members run, no member lags"
	}
	return "all members run, no member lags, all volumes are healthy"
}

// rebuild has degraded volumes rebuilt, each once, as storage with a policy does by itself when a disk returns. A
// rebuild continues when the load ends.
func (r *redundancy) rebuild(ctx context.Context, l record.Lab) {
	for _, volume := range degraded(l) {
		if slices.Contains(r.rebuilt, volume) {
			continue
		}
		r.rebuilt = append(r.rebuilt, volume)
		r.drill.progress.Note("rebuilding volume " + volume)
		var text string
		repair := wait.Wait{Name: "rebuild of volume " + volume, Limit: r.drill.spec.Recovery.Std()}
		err := repair.Do(ctx, func(ctx context.Context) (err error) {
			text, err = r.target.lab.Repair(ctx, volume)
			return err
		})
		if err != nil {
			r.notRebuilt = fmt.Sprintf("; volume %s could not be rebuilt: %v", volume, err)
			continue
		}
		r.events.add("repair", volume+": "+text, nil)
	}
}

// missing says what is not as it was before the load, "" if nothing. Faults that stay until the audit is over are
// accepted. Any other fault that is in place could not be healed.
func (r *redundancy) missing(now record.Lab, allowed lag) string {
	intended := r.scheduler.intended()
	var list []string
	for _, f := range now.Faults {
		if !intended[f.ID] && !wasInPlace(r.target.before, f) {
			list = append(list, fmt.Sprintf("%s %s is still in place", f.Action, f.Target))
		}
	}
	if text := notRestored(r.target.before, now, allowed); text != "" {
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// lag is how far behind a member may be to count as up to date.
type lag struct {
	bytes   int64
	seconds float64
}

var lagUnderLoad = lag{256 << 10, 2}

// wasDown says whether a member was known before the load, and did not run.
func wasDown(before record.Lab, name string) bool {
	return slices.ContainsFunc(before.Members, func(m record.LabMember) bool {
		return m.Name == name && m.State != "running"
	})
}

// notRestored says what of a lab is not as it was, "" if everything is. Targets of faults are left out, and members
// that were down before.
func notRestored(before, now record.Lab, allowed lag) string {
	var missing []string
	faulty := map[string]bool{}
	for _, f := range now.Faults {
		faulty[f.Target] = true
	}
	for _, m := range now.Members {
		if faulty[m.Name] || faulty[m.Host] || wasDown(before, m.Name) {
			continue
		}
		switch {
		case m.State != "running":
			missing = append(missing, fmt.Sprintf("%s is %s", m.Name, m.State))
		case roleOf(before, m.Name) != "" && (m.Role == "" || m.Role == "unknown"):
			missing = append(missing, m.Name+" has no role")
		case m.Kind == "postgres" && m.Problem != "":
			missing = append(missing, m.Name+": "+m.Problem)
		case m.LagBytes == nil && m.LagSeconds == nil && m.Role == "secondary" && reportsLag(before, m.Name):
			missing = append(missing, m.Name+" does not replicate")
		case m.LagBytes != nil && *m.LagBytes > allowed.bytes:
			missing = append(missing, fmt.Sprintf("%s is %d bytes behind", m.Name, *m.LagBytes))
		case m.LagBytes == nil && m.LagSeconds != nil && *m.LagSeconds > allowed.seconds:
			missing = append(missing, fmt.Sprintf("%s is %s behind", m.Name, secondsText(*m.LagSeconds)))
		}
	}
	is := primariesOf(now)
	for set, name := range primariesOf(before) {
		if is[set] == "" { // a member that stays dead is skipped above, but another member must replace it
			missing = append(missing, fmt.Sprintf("no member has replaced %s as primary", name))
		}
	}
	for _, v := range now.Volumes {
		if v.Health == "degraded" || v.Health == "repairing" || v.Health == "failed" {
			anyDisk := slices.ContainsFunc(now.Faults, func(f record.LabFault) bool {
				return strings.HasPrefix(f.Target, v.Name+"/")
			})
			if !faulty[v.Name] && !anyDisk && faultyHost(v, now.Faults) == "" {
				missing = append(missing, fmt.Sprintf("volume %s is %s", v.Name, v.Health))
			}
		}
	}
	return strings.Join(missing, ", ")
}

// deadHosts says which members are down and which volumes lack copies because a host stays dead, "" if none.
// Redundancy cannot return before the host does.
func deadHosts(l record.Lab) string {
	var volumes, hosts, down []string
	for _, m := range l.Members {
		if holdsData(m) && m.State != "running" && slices.ContainsFunc(l.Faults, func(f record.LabFault) bool {
			return f.Target == m.Host
		}) {
			down = append(down, m.Name)
			if !slices.Contains(hosts, m.Host) {
				hosts = append(hosts, m.Host)
			}
		}
	}
	for _, v := range l.Volumes {
		if host := faultyHost(v, l.Faults); host != "" && v.Health != "healthy" {
			volumes = append(volumes, v.Name)
			if !slices.Contains(hosts, host) {
				hosts = append(hosts, host)
			}
		}
	}
	var parts []string
	if len(down) > 0 {
		parts = append(parts, "down: "+strings.Join(down, ", "))
	}
	if len(volumes) > 0 {
		parts = append(parts, "volumes without all copies: "+strings.Join(volumes, ", "))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("redundancy was not fully restored, because %s stays dead (%s)",
		strings.Join(hosts, " and "), strings.Join(parts, "; "))
}

// faultyHost returns the host of one of a volume's disks that has a fault, "" if there is none.
func faultyHost(v record.LabVolume, faults []record.LabFault) string {
	for _, f := range faults {
		if slices.ContainsFunc(v.Disks, func(d record.LabDisk) bool { return d.Host == f.Target }) {
			return f.Target
		}
	}
	return ""
}

// reportsLag reports whether the lab knows the lag of any member in the set of a member. If so, it knows the lag of
// every member that replicates.
func reportsLag(l record.Lab, member string) bool {
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
