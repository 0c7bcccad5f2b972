package disk

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/plimsoll-bench/plimsoll/disk/files"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/record"
)

// PowerCutter cuts the power of the disks below a directory and restores it. No file in the directory may be open
// meanwhile. The caller passes contexts that do not end with an interrupt, so that the power is always restored.
type PowerCutter interface {
	// Cut loses everything that was not flushed to the disks below the directory.
	Cut(ctx context.Context, dir string) error
	// Return restores the power and mounts the filesystem again, including its repair after a power cut.
	Return(ctx context.Context, dir string) error
	// Covers describes the layers above the cut, Blind those below it.
	Covers() string
	Blind() string
}

const (
	// proofRecords are synced before the power cut; proofLoose are written after them without a sync.
	proofRecords = 300
	proofLoose   = 50
	proofBytes   = 512
)

const (
	// cutLimit bounds a power cut, which reverts everything that was not flushed.
	cutLimit = time.Minute
	// returnLimit bounds the return of the power, with the repair of the filesystem.
	returnLimit = 6 * time.Minute
)

// proof measures grade C: it writes numbered records, each acknowledged after its flush, and cuts the power. All
// acknowledged records must exist afterwards. After an interrupt there is no power cut and no grade.
func (p *probe) proof(ctx context.Context) (*record.ProbeDurability, error) {
	p.Progress.Step(fmt.Sprintf("power cut after %d acknowledged records", proofRecords))
	d := &record.ProbeDurability{Grade: "C", Covers: p.Cutter.Covers(), Blind: p.Cutter.Blind()}
	f, err := p.set.Create(files.Proof, false, false)
	if err != nil {
		return nil, err
	}
	if err := p.writeProof(f, d); err != nil {
		f.Close()
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	name := p.set.Path(files.Proof)
	if err := p.set.Release(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, nil
	}
	if err := p.losePower(ctx); err != nil {
		return nil, err
	}
	kept := p.readProof(name)
	d.Missing = max(0, d.Acknowledged-kept)
	d.Verdict = record.Honest
	d.Text = fmt.Sprintf("all %s records acknowledged before a power cut existed after it", figure.Count(d.Acknowledged))
	if d.Missing > 0 {
		d.Verdict = record.Lying
		d.Text = fmt.Sprintf("%s of %s records acknowledged before a power cut were lost", figure.Count(d.Missing), figure.Count(d.Acknowledged))
	}
	return d, nil
}

// losePower cuts the power and restores it. It ignores an interrupt, which would leave a disk without power and an
// unusable filesystem.
func (p *probe) losePower(ctx context.Context) error {
	uninterrupted := context.WithoutCancel(ctx)
	cut, end := context.WithTimeoutCause(uninterrupted, cutLimit, fmt.Errorf("it took longer than %v", cutLimit))
	defer end()
	if err := p.Cutter.Cut(cut, p.spec.Directory); err != nil {
		return fmt.Errorf("cannot cut the power: %w", err)
	}
	back, end := context.WithTimeoutCause(uninterrupted, returnLimit, fmt.Errorf("it took longer than %v", returnLimit))
	defer end()
	if err := p.Cutter.Return(back, p.spec.Directory); err != nil {
		return fmt.Errorf("the filesystem could not be mounted after the power cut: %w", err)
	}
	if ctx.Err() != nil {
		p.Progress.Note("interrupted during the power cut; the power is restored and the filesystem is mounted again")
	}
	return nil
}

// writeProof writes the records and counts those acknowledged. The file grows, so its length and its name are tested
// too.
func (p *probe) writeProof(f *files.File, d *record.ProbeDurability) error {
	b := make([]byte, proofBytes)
	for i := range int64(proofRecords + proofLoose) {
		p.pool.Fill(b, i*proofBytes, p.next())
		if err := f.WriteAt(b, i*proofBytes); err != nil {
			return err
		}
		if i >= proofRecords {
			continue
		}
		if err := f.Sync(); err != nil {
			return err
		}
		if i == 0 {
			if err := p.set.SyncDir(); err != nil {
				return err
			}
		}
		d.Acknowledged++
	}
	return nil
}

// readProof counts the intact records from the first one on.
func (p *probe) readProof(name string) int64 {
	content, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	var n int64
	for ; (n+1)*proofBytes <= int64(len(content)); n++ {
		if p.pool.Check(content[n*proofBytes:(n+1)*proofBytes], n*proofBytes, 0) != nil {
			break
		}
	}
	return n
}
