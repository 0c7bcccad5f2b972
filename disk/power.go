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

// PowerCutter takes away the power of the disks below a directory, and brings the directory back. Nobody may have files
// open in it meanwhile. Its contexts do not end with an interrupt: what was cut has to come back.
type PowerCutter interface {
	// Cut loses everything that was not flushed to the disks below the directory.
	Cut(ctx context.Context, dir string) error
	// Return gives the power back and mounts the filesystem again, with the repair that it does after a power cut.
	Return(ctx context.Context, dir string) error
	// Covers says which layers stand above the cut, Blind what lies below it.
	Covers() string
	Blind() string
}

const (
	// proofRecords are written durably before the power is cut, proofLoose after them and not made durable.
	proofRecords = 300
	proofLoose   = 50
	proofBytes   = 512
)

const (
	// cutLimit bounds a power cut, which undoes what was not flushed.
	cutLimit = time.Minute
	// returnLimit bounds the return of the power: a filesystem repairs itself before it is mounted.
	returnLimit = 6 * time.Minute
)

// proof is grade C: numbered records are written, each acknowledged after its flush, then the power is cut; what was
// acknowledged must be there afterwards. After an interrupt no power is cut, and there is no grade.
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
	d.Text = fmt.Sprintf("all %s records that were acknowledged before a power cut were there after it", figure.Count(d.Acknowledged))
	if d.Missing > 0 {
		d.Verdict = record.Lying
		d.Text = fmt.Sprintf("%s of %s records that were acknowledged before a power cut were gone after it", figure.Count(d.Missing), figure.Count(d.Acknowledged))
	}
	return d, nil
}

// losePower cuts the power and brings it back. An interrupt ends neither: it would leave a disk without power, and a
// filesystem that nobody can use.
func (p *probe) losePower(ctx context.Context) error {
	asked := context.WithoutCancel(ctx)
	cut, end := context.WithTimeoutCause(asked, cutLimit, fmt.Errorf("it took longer than %v", cutLimit))
	defer end()
	if err := p.Cutter.Cut(cut, p.spec.Directory); err != nil {
		return fmt.Errorf("the power could not be cut: %w", err)
	}
	back, end := context.WithTimeoutCause(asked, returnLimit, fmt.Errorf("it took longer than %v", returnLimit))
	defer end()
	if err := p.Cutter.Return(back, p.spec.Directory); err != nil {
		return fmt.Errorf("the power was cut, and the filesystem did not come back: %w", err)
	}
	if ctx.Err() != nil {
		p.Progress.Note("it was interrupted while the power was cut: the power is back, and the filesystem is mounted again")
	}
	return nil
}

// writeProof writes and counts what is acknowledged. The file grows, so that its length and its name are at stake too.
func (p *probe) writeProof(f *files.File, d *record.ProbeDurability) error {
	b := make([]byte, proofBytes)
	for i := range int64(proofRecords + proofLoose) {
		p.pool.Fill(b, i*proofBytes, uint64(i+1))
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

// readProof counts the records from the first one on that are as they were written.
func (p *probe) readProof(name string) int64 {
	content, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	var n int64
	for ; (n+1)*proofBytes <= int64(len(content)); n++ {
		if p.pool.Check(content[n*proofBytes:(n+1)*proofBytes], n*proofBytes) != nil {
			break
		}
	}
	return n
}
