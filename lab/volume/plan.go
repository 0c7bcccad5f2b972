package volume

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The backends of volumes.
const (
	Auto      = "auto"
	Directory = "directory"
	Disk      = "disk"
	Btrfs     = "btrfs"
	MD        = "md"
	LVM       = "lvm"
)

// maxDisks is the maximum for each volume.
const maxDisks = 32

// Plan returns the layout of a policy on a machine. It changes nothing. If the policy contradicts itself or the machine
// does not support it, the error names an alternative.
func Plan(p spec.Storage, f Facts) (record.LabLayout, error) {
	if err := checkPolicy(p); err != nil {
		return record.LabLayout{}, err
	}
	s, err := schemeOf(p, f)
	if err != nil {
		return record.LabLayout{}, err
	}
	if err := s.possible(f); err != nil {
		return record.LabLayout{}, err
	}
	return s.layout()
}

// scheme is a policy with all decisions.
type scheme struct {
	policy  spec.Storage
	backend string
	// data is the stripe width: how many disks have different data. copies is the number of complete copies, parity the
	// number of parity disks.
	data, copies, parity int
	chunk                int64 // stripe size in bytes; 0 is the backend's default
	filesystem           string
	checksum             string // "none", or the algorithm
	notes                []string
}

func (s scheme) disks() int { return s.data*s.copies + s.parity }

func (s scheme) tolerates() int { return s.copies - 1 + s.parity }

// checkPolicy checks a policy independently of the machine. Package spec checks most values; here are those with
// defaults, which are set by now.
func checkPolicy(p spec.Storage) error {
	if err := p.Validate(); err != nil {
		return err
	}
	switch {
	case needsDisks(p) && p.Size == 0:
		return errors.New("storage.size: virtual disks need the size of each volume, such as size: 2GiB")
	case p.Cache != nil && (p.Cache.Device == "" || p.Cache.Size == 0):
		return errors.New("storage.cache: a cache needs a device, such as nvme, and a size, such as 256MiB")
	}
	return nil
}

// needsDisks says whether a policy has an attribute that a directory does not support.
func needsDisks(p spec.Storage) bool {
	return p.Backend != "" && p.Backend != Auto && p.Backend != Directory || p.Stripe > 1 || p.StripeSize > 0 ||
		p.Tolerate > 0 || p.Checksum != nil || p.Filesystem != "" || p.Device != "" || p.Cache != nil || p.Faults
}

// UsesFaultfs says whether the disks of a policy are files of the fault filesystem, and so can have faults.
func UsesFaultfs(p spec.Storage) bool { return p.Faults || p.Device != "" || p.Cache != nil }

// schemeOf chooses the backend of a policy, if it names none.
func schemeOf(p spec.Storage, f Facts) (scheme, error) {
	backend := p.Backend
	if backend == "" || backend == Auto {
		var err error
		if backend, err = choose(p, f); err != nil {
			return scheme{}, err
		}
	}
	return schemeFor(backend, p, f)
}

// schemeFor returns the scheme of a policy with a backend.
func schemeFor(backend string, p spec.Storage, f Facts) (scheme, error) {
	s := scheme{policy: p, backend: backend, data: max(1, int(p.Stripe)), copies: 1, chunk: int64(p.StripeSize),
		checksum: "none"}
	if p.Redundancy == "parity" {
		s.parity = int(p.Tolerate)
	} else {
		s.copies = 1 + int(p.Tolerate)
	}
	if n := s.disks(); n > maxDisks {
		return s, fmt.Errorf("storage: the policy needs %d disks for each volume: the maximum is %d", n, maxDisks)
	}
	var err error
	switch backend {
	case Directory:
		s.checksum, s.notes = "", []string{noteDirectory}
	case Disk:
		err = s.asDisk(f)
	case Btrfs:
		err = s.asBtrfs()
	case MD:
		err = s.asMD(f)
	case LVM:
		err = s.asLVM(f)
	}
	return s, err
}

func choose(p spec.Storage, f Facts) (string, error) {
	if p.Size == 0 && !needsDisks(p) {
		return Directory, nil
	}
	oneDisk := p.Stripe <= 1 && p.Tolerate == 0
	checked := p.Checksum != nil && *p.Checksum
	switch {
	case oneDisk && p.Filesystem != "btrfs" && !checked && p.StripeSize == 0:
		return Disk, nil
	case p.Redundancy == "parity" || p.StripeSize > 0 || p.Filesystem == "xfs" || p.Filesystem == "ext4" ||
		p.Stripe > 1 && p.Tolerate > 1: // btrfs does not stripe more than two copies
		return chooseRAID(p, f)
	case f.Btrfs.OK() || checked || p.Filesystem == "btrfs":
		return Btrfs, nil
	case f.MD.OK():
		return MD, nil
	case f.LVM.OK():
		return LVM, nil
	}
	return Btrfs, nil // its check says what is missing
}

// chooseRAID chooses md or LVM for a policy that btrfs does not support. The error names an alternative policy.
func chooseRAID(p spec.Storage, f Facts) (string, error) {
	checked := p.Checksum != nil && *p.Checksum
	if checked && (p.Filesystem == "xfs" || p.Filesystem == "ext4") {
		return "", fmt.Errorf("storage: %s has no checksums of data. Use filesystem: btrfs, or checksum: false", p.Filesystem)
	}
	fits := func(backend string, s Support) bool {
		if !s.OK() {
			return false
		}
		sch, err := schemeFor(backend, p, f)
		return err == nil && sch.possible(f) == nil
	}
	if fits(MD, f.MD) {
		return MD, nil
	}
	if fits(LVM, f.LVM) {
		return LVM, nil
	}
	why := fmt.Sprintf("md and LVM cannot be used (%s; %s)",
		cmp.Or(f.lacks(MD), "md does not support the policy"), cmp.Or(f.lacks(LVM), "LVM does not support the policy"))
	if checked {
		why = "md and LVM have no checksums of data"
	}
	switch {
	case p.Redundancy == "parity":
		return "", fmt.Errorf("storage: btrfs is not chosen for parity, because its RAID 5 and 6 are not safe, but %s. "+
			"Use redundancy: mirror, or backend: btrfs to use it anyway", why)
	case p.StripeSize > 0:
		return "", fmt.Errorf("storage: stripe_size needs md or LVM, but %s. "+
			"Remove it to use btrfs, which has stripes of 64 KiB", why)
	case p.Filesystem != "":
		return "", fmt.Errorf("storage: %s on more than one disk needs md or LVM, but %s. "+
			"Use filesystem: btrfs, or one disk", p.Filesystem, why)
	}
	return "", fmt.Errorf("storage: striping %d copies needs md, but %s. "+
		"Use stripe: 1 (btrfs with %d copies), or tolerate: 1 (btrfs raid10)", p.Tolerate+1, why, p.Tolerate+1)
}
