package conduct

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-bench/plimsoll/campaign"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Storage changes the storage policy of the disks of a target.
type Storage interface {
	// Facts are what is known of the disks, and of the machines around them.
	Facts(ctx context.Context) *record.VSphere
	// Apply applies a policy to all disks, and returns when they comply.
	Apply(ctx context.Context, policy string) (record.StorageChange, error)
	// Restore applies the policies that the disks had before the first change.
	Restore(ctx context.Context) error
	Close() error
}

// storage is the storage of the target of a study.
type storage struct {
	open     func(context.Context, spec.Study) (Storage, error)
	progress Progress
	now      Storage // nil if the study has no platform
	left     string  // why the policies could not be restored
}

// begin opens the storage, and notes the facts.
func (s *storage) begin(ctx context.Context, asked spec.Study, of *record.Study) (err error) {
	if asked.Platform == "" {
		return nil
	}
	if s.open == nil {
		return campaign.Wrong(errors.New("platform: this program cannot change storage policies"))
	}
	if s.now, err = s.open(ctx, asked); err != nil {
		s.now = nil
		return &campaign.Stop{Reason: campaign.Unreachable, Err: err, Text: fmt.Sprintf("platform: %v", err)}
	}
	if of.VSphere == nil {
		of.VSphere = s.now.Facts(ctx)
	}
	return nil
}

// arrange applies the storage policy of a trial.
func (s *storage) arrange(ctx context.Context, t *record.Trial, policy string) error {
	if s.now == nil || policy == "" {
		return nil
	}
	s.progress.Note(fmt.Sprintf("applying the storage policy %q for %s", policy, t.Configuration))
	change, err := s.now.Apply(ctx, policy)
	t.Storage = &change
	if err != nil {
		return &run.Error{Stage: run.Filling, Err: fmt.Errorf("cannot apply the storage policy: %w", err)}
	}
	return nil
}

// restoreAtMost limits the time to restore the policies at the end. It is not the time to rebuild the disks.
const restoreAtMost = time.Hour

// end restores the policies of the beginning.
func (s *storage) end(ctx context.Context) {
	if s.now == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreAtMost)
	defer cancel()
	s.progress.Note("restoring the storage policies")
	err := s.now.Restore(ctx)
	if closeErr := s.now.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		s.left = fmt.Sprintf("the storage policies could not be restored: %v. Try again with: plimsoll platform heal", err)
		s.progress.Note(s.left)
	}
}

// rebuilt returns how often disks got another policy for a trial, and the mean time in seconds until they complied.
func rebuilt(trials []record.Trial) (mean float64, n int) {
	for _, t := range trials {
		if t.Storage != nil && t.Storage.Changed > 0 {
			mean += t.Storage.Seconds
			n++
		}
	}
	return mean / float64(max(n, 1)), n
}
