package disk

import (
	"context"
	"errors"
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
	// Cut loses everything that was not flushed to the disks below the directory. It returns how many writes the disks
	// say that they discarded, 0 if they do not say it.
	Cut(ctx context.Context, dir string) (discarded int64, err error)
	// Return restores the power and mounts the filesystem again, including its repair after a power cut. A filesystem that
	// the kernel finds damaged gives a [DamagedError].
	Return(ctx context.Context, dir string) error
	// Covers describes the layers above the cut, Blind those below it.
	Covers() string
	Blind() string
}

// DamagedError says that the filesystem could not be mounted after a power cut, because what it had flushed is lost.
type DamagedError struct{ Err error }

func (e *DamagedError) Error() string {
	return "the filesystem is damaged after the power cut: " + e.Err.Error()
}

func (e *DamagedError) Unwrap() error { return e.Err }

const (
	// proofRecords are synced before the power cut; proofLoose are written after them without a sync.
	proofRecords = 300
	proofLoose   = 50
	proofBytes   = 512
	// powerCuts is how often the power is cut until a cut loses something.
	powerCuts = 3
)

const (
	// cutLimit bounds a power cut, which reverts everything that was not flushed.
	cutLimit = time.Minute
	// returnLimit bounds the return of the power, with the repair of the filesystem.
	returnLimit = 6 * time.Minute
)

// proof measures grade C if the power of the disks can be cut: it writes numbered records, each acknowledged after its
// flush, then records without a flush, and cuts the power. All acknowledged records must exist afterwards. A cut that
// lost nothing proves nothing, as when the kernel flushed everything just before it, and is repeated with other
// records. After an interrupt there is no further power cut, and no grade without one.
func (p *probe) proof(ctx context.Context) error {
	if p.Cutter == nil {
		return nil
	}
	var d *record.ProbeDurability
	for n := range powerCuts {
		next, err := p.powerCut(ctx, n)
		if err != nil {
			return err
		}
		if next == nil {
			break
		}
		if d = next; d.Verdict != record.NotProvable {
			break
		}
	}
	if d != nil {
		p.out.Durability = append(p.out.Durability, *d)
	}
	return nil
}

// powerCut writes the records of power cut n, cuts the power, and judges what exists afterwards. It returns nil if an
// interrupt came before the cut.
func (p *probe) powerCut(ctx context.Context, n int) (*record.ProbeDurability, error) {
	if ctx.Err() != nil {
		return nil, nil
	}
	p.Progress.Step(fmt.Sprintf("power cut after %d acknowledged records", proofRecords))
	d := &record.ProbeDurability{Grade: "C", Covers: p.Cutter.Covers(), Blind: p.Cutter.Blind(), Loose: proofLoose}
	f, err := p.set.Create(files.ProofName(n), false, false)
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
	if err := p.set.Release(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, nil
	}
	damaged := (*DamagedError)(nil)
	if d.Discarded, err = p.losePower(ctx); errors.As(err, &damaged) {
		d.Missing, d.Verdict = d.Acknowledged, record.Lying
		d.Text = fmt.Sprintf("%v. A filesystem keeps what was flushed, so a flush was lost, and with it all %s acknowledged records. "+
			"The filesystem stays unmounted: make a new one", damaged, figure.Count(d.Acknowledged))
		return d, nil
	} else if err != nil {
		return nil, err
	}
	kept := p.readProof(p.set.Path(files.ProofName(n)))
	for i, ok := range kept {
		switch {
		case ok && i >= proofRecords:
			d.Loose--
		case !ok && i < proofRecords:
			d.Missing++
		}
	}
	judgePower(d, "before a power cut")
	return d, nil
}

// judgePower judges a power cut by the records that exist after it. Only a cut that lost something proves anything: the
// disks say that they discarded writes, or records without a sync are gone. what follows "acknowledged".
func judgePower(d *record.ProbeDurability, what string) {
	switch {
	case d.Missing > 0:
		d.Verdict = record.Lying
		d.Text = fmt.Sprintf("%s of %s records acknowledged %s were lost", figure.Count(d.Missing), figure.Count(d.Acknowledged), what)
	case d.Discarded == 0 && d.Loose == 0:
		d.Verdict = record.NotProvable
		d.Text = fmt.Sprintf("all records existed afterwards, also those without a sync, and no disk discarded a write. So the cut lost nothing, "+
			"and does not show whether the %s acknowledged records were safe", figure.Count(d.Acknowledged))
	default:
		d.Verdict = record.Honest
		d.Text = fmt.Sprintf("all %s records acknowledged %s existed after it; it lost %s", figure.Count(d.Acknowledged), what, lostText(*d))
	}
}

// lostText says what a power cut lost of what nobody had acknowledged.
func lostText(d record.ProbeDurability) string {
	text := fmt.Sprintf("%s without a sync", figure.Plural(int(d.Loose), "record"))
	if d.Discarded > 0 {
		text += fmt.Sprintf(", and the disks discarded %s", figure.Plural(int(d.Discarded), "write"))
	}
	return text
}

// losePower cuts the power and restores it. It ignores an interrupt, which would leave a disk without power and an
// unusable filesystem.
func (p *probe) losePower(ctx context.Context) (discarded int64, err error) {
	uninterrupted := context.WithoutCancel(ctx)
	cut, end := context.WithTimeoutCause(uninterrupted, cutLimit, fmt.Errorf("it took longer than %v", cutLimit))
	defer end()
	if discarded, err = p.Cutter.Cut(cut, p.spec.Directory); err != nil {
		return 0, fmt.Errorf("cannot cut the power: %w", err)
	}
	back, end := context.WithTimeoutCause(uninterrupted, returnLimit, fmt.Errorf("it took longer than %v", returnLimit))
	defer end()
	if err := p.Cutter.Return(back, p.spec.Directory); err != nil {
		return discarded, fmt.Errorf("the filesystem could not be mounted after the power cut: %w", err)
	}
	if ctx.Err() != nil {
		p.Progress.Note("interrupted during the power cut; the power is restored and the filesystem is mounted again")
	}
	return discarded, nil
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

// readProof reports for each record whether it is intact.
func (p *probe) readProof(name string) (intact [proofRecords + proofLoose]bool) {
	content, err := os.ReadFile(name)
	if err != nil {
		return intact
	}
	for i := range intact {
		at := i * proofBytes
		intact[i] = at+proofBytes <= len(content) && p.pool.Check(content[at:at+proofBytes], int64(at), 0) == nil
	}
	return intact
}
