package spec

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func rounds(t *testing.T, text string) Drill {
	t.Helper()
	d, err := ReadDrill(strings.NewReader(text))
	if err == nil {
		err = d.Complete()
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func delays(d Drill) (list []time.Duration) {
	for n := 1; n <= int(d.Repeat); n++ {
		_, delay := d.Round(n)
		list = append(list, delay)
	}
	return list
}

// TestRoundsStrikeAtRandomMoments holds the delays to their bounds, to a uniform distribution, and to their seed.
func TestRoundsStrikeAtRandomMoments(t *testing.T) {
	const text = `{run: {target: "lab:x", load: {duration: 25s}}, faults: [{fault: "kill:primary", at: 6s, for: 8s}], repeat: `
	d := rounds(t, text+"2000}")
	list := delays(d)
	if !slices.Equal(list, delays(d)) {
		t.Error("the same specification strikes at other moments")
	}
	span := 10 * time.Second // the default
	tenth := make([]int, 10)
	for n, delay := range list {
		if delay < 0 || delay > span || delay%time.Millisecond != 0 {
			t.Fatalf("round %d: a delay of %v", n+1, delay)
		}
		tenth[min(9, delay*10/span)]++
	}
	for i, n := range tenth { // 200 expected, with a standard deviation of 13.4; the seed is fixed
		if n < 140 || n > 260 {
			t.Errorf("%d of 2000 delays are in tenth %d of the span", n, i+1)
		}
	}
	if fewer := delays(rounds(t, text+"5}")); !slices.Equal(fewer, list[:5]) {
		t.Errorf("the first rounds of a longer drill strike after %v, those of a shorter one after %v", list[:5], fewer)
	}
	other := d
	other.Run.Workload.Seed++
	if slices.Equal(list, delays(other)) {
		t.Error("another seed strikes at the same moments")
	}
	for _, fixed := range []string{"1}", "3, jitter: 0s}"} {
		for _, delay := range delays(rounds(t, text+fixed)) {
			if delay != 0 {
				t.Errorf("repeat: %s: a delay of %v", fixed, delay)
			}
		}
	}
	if one := rounds(t, text+"1}"); one.Jitter != nil {
		t.Errorf("a drill of one round has a jitter of %v", *one.Jitter)
	}
	if one := delays(rounds(t, text+"1, jitter: 10s}")); one[0] != list[0] {
		t.Errorf("one round with a jitter strikes after %v, the first of several after %v", one[0], list[0])
	}
}

// TestRoundIsLongEnough checks that each round has the same time after its fault, the same load at its fault, and a
// specification that can be performed.
func TestRoundIsLongEnough(t *testing.T) {
	for name, text := range map[string]string{
		"duration":  `{run: {load: {rate: 300, duration: 25s}}, faults: [{fault: "kill:primary", at: 6s, for: 19s}, {fault: "pause:secondary", at: 9s}]`,
		"users":     `{run: {load: {pace: 26, stages: [{duration: 5m, workers: 50}]}}, faults: [{fault: "kill:primary", at_workers: 15, for: 210s}]`,
		"more":      `{run: {load: {workers: 20, stages: [{duration: 20s, workers: 50}]}}, faults: [{fault: "kill:primary", at_workers: 15, for: 20s}]`,
		"ramp":      `{run: {load: {stages: [{duration: 20s, rate: 500}, {duration: 20s, rate: 100}]}}, faults: [{fault: "kill:primary", at: 30s, for: 10s}]`,
		"step":      `{run: {load: {stages: [{duration: 20s, rate: 500, step: true}]}}, faults: [{fault: "kill:primary", at: 5s}]`,
		"ramp from": `{run: {load: {rate: 100, duration: 30s, stages: [{duration: 20s, rate: 500}]}}, faults: [{fault: "kill:primary", at: 25s, for: 5s}]`,
	} {
		t.Run(name, func(t *testing.T) {
			d := rounds(t, text+`, repeat: 20, lab: {topology: {kind: replica-set, members: 3}}, jitter: 30s}`)
			for n := 1; n <= int(d.Repeat); n++ {
				r, delay := d.Round(n)
				if err := r.Validate(); err != nil {
					t.Fatal(err)
				}
				if r.Measured() != d.Measured()+delay {
					t.Errorf("round %d, %v later: it measures for %v instead of %v", n, delay, r.Measured(), d.Measured()+delay)
				}
				for i, f := range d.Faults {
					at, _ := d.Moment(f)
					if got, ok := r.Moment(r.Faults[i]); !ok || got != at+delay {
						t.Errorf("round %d: %v instead of %v + %v", n, got, at, delay)
					}
				}
				if s := d.Run.Load.Stages; len(s) > 0 {
					if !slices.Equal(r.Run.Load.Stages[1:], s) || r.Run.Load.Stages[0].Duration.Std() != delay {
						t.Errorf("round %d: stages %+v", n, r.Run.Load.Stages)
					}
				}
			}
		})
	}
}

func TestJitterIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{run: {target: "lab:x"}, faults: [{fault: "kill:primary"}], repeat: 2, jitter: 2h}`: "jitter: 2h is more than 1h",
		`{run: {target: "lab:x"}, external: true, repeat: 2, jitter: 5s}`:                    "jitter: the drill does not inject an external fault",
	} {
		d, err := ReadDrill(strings.NewReader(text))
		if err == nil {
			err = d.Complete()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
