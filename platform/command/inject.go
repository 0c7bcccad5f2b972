package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/visible"
	"github.com/plimsoll-bench/plimsoll/lab/action"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// witnessEvery is the pause between two runs of the user's witness.
const witnessEvery = 250 * time.Millisecond

// injector is a [platform.Injector] of commands.
type injector struct {
	platform *Platform
	fault    spec.Fault
	commands spec.Commands // filled when the member is known
	env      map[string]string
	eye      *eye // nil if the fault names no member
	known    platform.Injection
}

// Inject implements [platform.Injector]. The fault is in the journal before the command starts. After a command that
// failed, the fault is healed, because the command may have done a part of its work.
func (i *injector) Inject(ctx context.Context) (platform.Injection, error) {
	if i.known.Injected() {
		return i.known, fmt.Errorf("%s: the fault was injected already", i.fault.Strike)
	}
	m, err := i.platform.choose(ctx, i.fault)
	if err != nil {
		return i.known, fmt.Errorf("%s: %w", i.fault.Strike, err)
	}
	i.env = values(i.fault.Strike.Action, m)
	i.commands = filled(i.commands, i.env)
	i.describe(m)
	if m != nil {
		i.eye = open(m, i.platform.hide)
	}
	book, err := i.platform.journal()
	if err != nil {
		return i.known, fmt.Errorf("%s: %w", i.fault.Strike, err)
	}
	if i.known.ID, err = book.add(i.fault.Strike, i.commands, i.env); err != nil {
		return i.known, fmt.Errorf("%s: nothing was done, because the journal cannot be written: %w", i.fault.Strike, err)
	}
	if err = i.run(stepInject, i.commands.Inject); err == nil {
		i.known.Requested, i.known.Effective = i.known.Commands[0].Asked, i.known.Commands[0].Returned
		if !i.known.Lasts {
			err = book.gone(i.known.ID)
		}
		return i.known, err
	}
	i.close()
	if errors.Is(err, errNotRun) {
		return i.known, errors.Join(fmt.Errorf("%s: %w", i.fault.Strike, err), book.gone(i.known.ID))
	}
	_, healErr := i.Heal(ctx)
	i.known.Healed = time.Time{} // it was not injected
	return i.known, errors.Join(fmt.Errorf("%s: %w", i.fault.Strike, err), healErr)
}

// describe sets what is known of the fault before it is injected.
func (i *injector) describe(m *member) {
	i.known.Target = "the deployment"
	if m != nil {
		i.known.Target = m.Name
		if a := action.Find(i.fault.Strike.Action); a != nil && a.On == action.Host {
			i.known.Target = m.Machine // with all members on it
		}
	}
	i.known.Manner = record.MannerUnknown
	if i.commands.FailureMode != "" {
		i.known.Manner = i.commands.FailureMode
	}
	i.known.TakesDown = i.known.Manner == record.MannerCrash || i.known.Manner == record.MannerBlackHole
	i.known.Unseats = i.known.TakesDown || i.known.Manner == record.MannerPlanned
	i.known.Lasts = len(i.commands.Heal) > 0
}

// run runs a command with its own time limit: an interrupted drill does not stop it.
func (i *injector) run(step string, words []string) error {
	c, err := execute(context.Background(), step, words, i.env, i.commands.Timeout.Std(), i.platform.hide)
	i.known.Commands = append(i.known.Commands, c)
	return err
}

// close ends Plimsoll's own connection.
func (i *injector) close() {
	if i.eye != nil {
		i.eye.close()
	}
}

// Verify implements [platform.Injector]. The witness command, if there is one, and Plimsoll's own connection, if the
// failure mode says what it notices, must both see an effect.
func (i *injector) Verify(ctx context.Context) (platform.Injection, error) {
	if !i.known.Injected() {
		return i.known, fmt.Errorf("%s: the fault was not injected", i.fault.Strike)
	}
	if !i.known.Healed.IsZero() || i.known.Hit {
		return i.known, nil
	}
	asked, told := len(i.commands.Witness) > 0, false
	// Connections tell a member that is away. A slow disk, or what a mode nobody named does, they need not notice.
	watched := i.eye != nil && (i.known.TakesDown || !asked)
	var at time.Time
	own := "was not used, because the fault names no member"
	for {
		if asked && !told {
			told = i.witness(ctx)
		}
		if i.eye != nil {
			at, own = i.eye.seen()
		}
		if (told || !asked) && (!at.IsZero() || !watched) {
			break
		}
		select {
		case <-time.After(witnessEvery):
			continue
		case <-ctx.Done():
		}
		break
	}
	i.close()
	i.judge(asked, told, watched, at, own)
	return i.known, nil
}

// judge compares what the injector, the witness and Plimsoll's own connection say.
func (i *injector) judge(asked, told, watched bool, at time.Time, own string) {
	inject := i.known.Commands[0]
	said := []string{fmt.Sprintf("the inject command returned 0 after %v", inject.Returned.Sub(inject.Asked).Round(time.Millisecond))}
	if asked {
		last := i.known.Commands[len(i.known.Commands)-1]
		text := "the witness command saw the effect (exit code 0)"
		if !told {
			text = "the witness command saw no effect (" + strings.TrimPrefix(failure{last}.Error(), "the command "+last.Text+" failed: ") + ")"
		} else {
			i.known.Seen = last.Returned
		}
		said = append(said, text)
	}
	if i.eye != nil {
		said = append(said, fmt.Sprintf("Plimsoll's own connection to %s (%s) %s", i.eye.member.Name, i.eye.member.Address, own))
	}
	if !at.IsZero() && (i.known.Seen.IsZero() || at.Before(i.known.Seen)) {
		i.known.Seen = at
	}
	i.known.Hit = (told || !at.IsZero()) && (told || !asked) && (!at.IsZero() || !watched)
	i.known.Disputed = !i.known.Hit && (told || !at.IsZero())
	i.known.Evidence = visible.Line(strings.Join(said, "; "))
}

// witness runs the witness command once. Of all its runs, the first and the last are kept.
func (i *injector) witness(ctx context.Context) bool {
	c, err := execute(ctx, stepWitness, i.commands.Witness, i.env, i.commands.Timeout.Std(), i.platform.hide)
	if n := len(i.known.Commands); n > 2 && i.known.Commands[n-1].Step == stepWitness {
		i.known.Commands[n-1] = c
	} else {
		i.known.Commands = append(i.known.Commands, c)
	}
	return err == nil
}

// Heal implements [platform.Injector].
func (i *injector) Heal(ctx context.Context) (platform.Injection, error) {
	i.close()
	if !i.known.Lasts {
		i.known.Healed = i.known.Effective
		return i.known, nil
	}
	book, err := i.platform.journal()
	if err != nil {
		return i.known, err
	}
	list, err := book.heal(context.WithoutCancel(ctx), i.known.ID, i.platform.hide)
	i.known.Commands = append(i.known.Commands, list...)
	if err != nil {
		return i.known, fmt.Errorf("%s: %w", i.fault.Strike, err)
	}
	i.known.Healed = list[len(list)-1].Returned
	return i.known, nil
}
