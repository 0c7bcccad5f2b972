package recordtest

import (
	"math"
	"time"

	"github.com/plimsoll-bench/plimsoll/measure"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Capacity says what a record of the loads of a deployment is to look like: a lab of three that carries 3,100
// operations per second with all members, and 2,400 while a secondary copies all data.
type Capacity struct {
	// Name replaces all names that users choose.
	Name string
	// Events are the lines besides that of all members up; without any, there is that line alone.
	Events []string
	// Status is that of the record, complete if it is empty.
	Status record.Status
	// Now is the share of finds in the present load, of which the workload has 95 %; 0 for no present load.
	Now float64
}

func (o Capacity) Write(dir string) (*record.Capacity, error) {
	c := o.Record()
	w, err := record.Create[*record.Capacity](dir, *c.Specification)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	return c, w.Write(c)
}

// Record is the record without files.
func (o Capacity) Record() *record.Capacity {
	asked := spec.Capacity{Run: spec.Run{Target: "mongodb://db1/", Workload: spec.Workload{Name: "b"}}, YesBreakIt: true}
	if o.Name != "" {
		asked.Name = o.Name
	}
	for _, e := range o.Events {
		asked.While = append(asked.While, spec.ParseAction(e))
	}
	asked.Defaults()
	ended := Started.Add(9 * time.Minute)
	c := &record.Capacity{Head: record.Head{SchemaVersion: record.SchemaVersion, Kind: record.KindCapacity,
		Status:  record.Complete,
		Started: Started, Ended: &ended, Command: []string{"plimsoll", "capacity", "mongodb://db1/"}, Validity: []measure.Finding{}},
		Specification: &asked, Objectives: asked.Objectives, Lines: []record.LoadLine{}, Estimate: 300, Seconds: 290,
		Target: &record.Target{Address: "mongodb://db1/", Kind: "mongod", Version: "5.0.31", Topology: "replica set"}}
	if o.Status != "" {
		c.Status = o.Status
	}
	c.Lines = append(c.Lines, line(spec.AllMembersUp, 3100, nil))
	for i, e := range o.Events {
		recovery := int64(14+i) * second
		c.Lines = append(c.Lines, line(e, 2400-float64(200*i), &record.LineEvent{Drills: 1, Outage: 2_100 * ms,
			Recovery:     &recovery,
			Acknowledged: 90_000}))
	}
	c.FindSafe()
	if o.Now > 0 {
		c.Now = o.present(c)
	}
	return c
}

// present is a load of 1,100 operations per second with a share of finds. The ends of its share are those of its kinds.
func (o Capacity) present(c *record.Capacity) *record.PresentLoad {
	const rate, finds = 1100, 0.95
	l, updates := c.SafeLine(), 1-o.Now
	reads, writes := int64(190_000), int64(6_200_000)
	share, apart, mine, theirs := rate/l.Rate, math.Abs(o.Now-finds), finds, 1-finds
	least, most := min(o.Now/finds, updates/theirs), max(o.Now/finds, updates/theirs)
	low, high := share*least*l.Rate / *l.High, share*most*l.Rate / *l.Low
	at, early := Started.AddDate(1, 8, 0), Started.AddDate(1, 5, 0)
	return &record.PresentLoad{From: Started, Duration: 60 * second, Source: record.PresentServer, Address: "mongodb://db1/",
		Servers: []string{"db1:27017", "db2:27017", "db3:27017"}, Rate: rate, Busiest: 1400, Reads: &reads, Writes: &writes,
		ByOperation: []record.PresentOperation{{Name: "find", Rate: rate * o.Now, Share: o.Now, Measured: &mine},
			{Name: "update", Rate: rate * updates, Share: updates, Measured: &theirs}},
		NotCounted: map[string]float64{"reads of the oplog by other members": 330, "mirrored reads": 6.2, "other commands": 444},
		Line:       l.Name, PerOperation: 1, Share: &share, Low: &low, High: &high, Apart: &apart,
		Growth: "4%/month", ReachedAt: &at, ReachedEarly: &early}
}

// line is a line at a rate, with a step below, one above and four around it.
func line(name string, rate float64, e *record.LineEvent) record.LoadLine {
	low, high, wrong := rate*0.95, rate*1.045, 0.04
	l := record.LoadLine{Name: name, Counts: true, Status: record.LineFound, Rate: rate, Low: &low, High: &high,
		Confidence: 0.95,
		Trials:     5, Wrong: &wrong, Precision: 0.05, Scatter: 0.02, Limit: record.LimitObjective, Event: e, Seconds: 140,
		Reason: "above it, p99<20ms is missed", Steps: []record.LineStep{}}
	for i, s := range []struct {
		phase   string
		share   float64
		p99     int64
		verdict record.LineVerdict
	}{
		{"ramp", 0.5, 4, record.StepMet}, {"ramp", 1.5, 900, record.StepMissed}, {"narrow", 0.87, 12, record.StepMet},
		{"narrow", 1.06, 31, record.StepMissed}, {"confirm", 0.97, 17, record.StepMet}, {"confirm", 1.03, 24, record.StepMissed},
		{"confirm", 0.98, 19, record.StepUndecided},
	} {
		value, at, sure := float64(s.p99*ms), Started.Add(time.Duration(i)*20*time.Second), 0.97
		if s.verdict == record.StepMissed {
			sure = 0.01
		}
		achieved := rate * min(s.share, 1.2)
		l.Steps = append(l.Steps, record.LineStep{Number: i + 1, Attempt: 1, Phase: s.phase, Record: "steps/" + name + "-" + s.phase,
			Started: &at, Seconds: 18, Measured: 15, Workers: 64, Offered: rate * s.share, Achieved: achieved, Objective: "p99<20ms",
			Value: &value, Unit: measure.UnitTime, P99: &value, Verdict: s.verdict, Certainty: &sure, Calm: 1.5})
	}
	if e != nil {
		for i := range l.Steps {
			l.Steps[i].Event = e
		}
	}
	return l
}
