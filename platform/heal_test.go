package platform

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/lab"
	"github.com/plimsoll-bench/plimsoll/record"
)

// telling is a lab in which faults were healed already, and that says when.
type telling struct {
	Lab
	events []record.LabEvent
}

func (l telling) Heal(context.Context, lab.Healing) ([]record.LabFault, error) {
	return nil, fmt.Errorf("there is no such fault: %w", lab.ErrRefused)
}

func (l telling) Describe(context.Context, bool) (record.Lab, error) { return record.Lab{}, nil }

func (l telling) Observe(context.Context) (record.Lab, error) { return record.Lab{}, nil }

func (l telling) EventsSince(context.Context, int64) ([]record.LabEvent, error) { return l.events, nil }

// What somebody else healed was healed when the lab says, not when it was looked for.
func TestHealedBefore(t *testing.T) {
	asked := time.Now().Add(-time.Minute)
	at := asked.Add(5 * time.Second).UTC()
	event := func(kind, id string, when time.Time) record.LabEvent {
		return record.LabEvent{Kind: kind, Time: when, Data: map[string]string{"id": id}}
	}
	known := Injection{Requested: asked, Effective: asked, ID: 7, Lasts: true}
	i := &injector{known: known, lab: telling{events: []record.LabEvent{
		event("fault", "7", asked), event("heal", "6", at.Add(-time.Second)), event("heal", "7", at)}}}
	if got, err := i.Heal(t.Context()); err != nil || !got.Healed.Equal(at) {
		t.Errorf("it was healed at %v, want %v: %v", got.Healed, at, err)
	}
	i.lab = telling{}
	if got, err := i.Heal(t.Context()); err != nil || time.Since(got.Healed) > 30*time.Second {
		t.Errorf("a lab that does not say when gives %v, %v", got, err)
	}
}
