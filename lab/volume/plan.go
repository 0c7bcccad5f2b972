package volume

import (
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

// maxDisks is how many disks a volume has at most.
const maxDisks = 32

// Plan turns a policy into a layout for a machine. It changes nothing. What the policy or this machine cannot do is
// an error that names what can.
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

// scheme is a policy with everything decided: what the rooms that make volumes work from.
type scheme struct {
	policy  spec.Storage
	backend string
	// data is how many disks carry different data: the stripe width. copies is how many whole copies there are, parity
	// how many disks' worth of parity.
	data, copies, parity int
	chunk                int64 // stripe size in bytes, 0 for the backend's own
	filesystem           string
	checksum             string // "none", or the algorithm
	notes                []string
}

func (s scheme) disks() int { return s.data*s.copies + s.parity }

func (s scheme) tolerates() int { return s.copies - 1 + s.parity }

// checkPolicy refuses what makes no sense on any machine. Its limits are those of the record; here are only the values
// that have a default, and have it by now.
func checkPolicy(p spec.Storage) error {
	if err := p.Validate(); err != nil {
		return err
	}
	switch {
	case needsDisks(p) && p.Size == 0:
		return errors.New("storage.size: it is needed for virtual disks: how much each volume must hold, size: 2GiB for example")
	case p.Cache != nil && (p.Cache.Device == "" || p.Cache.Size == 0):
		return errors.New("storage.cache: it needs a device, such as nvme, and a size, such as 256MiB")
	}
	return nil
}

// needsDisks says whether a policy asks for something that a directory does not have.
func needsDisks(p spec.Storage) bool { return asksForDisks(p) != "" }

// asksForDisks names the first thing in a policy that a directory does not have.
func asksForDisks(p spec.Storage) string {
	switch {
	case p.Backend != "" && p.Backend != Auto && p.Backend != Directory:
		return "backend"
	case p.Stripe > 1:
		return "stripe"
	case p.StripeSize > 0:
		return "stripe_size"
	case p.Tolerate > 0:
		return "tolerate"
	case p.Checksum != nil:
		return "checksum"
	case p.Filesystem != "":
		return "filesystem"
	case p.Device != "":
		return "device"
	case p.Cache != nil:
		return "cache"
	case p.Faults:
		return "faults"
	}
	return ""
}

// usesFaultfs says whether the disks of a policy stand on the fault filesystem.
func usesFaultfs(p spec.Storage) bool { return p.Faults || p.Device != "" || p.Cache != nil }

// schemeOf decides the backend of a policy and everything that follows from it.
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

// schemeFor works out what a backend makes of a policy.
func schemeFor(backend string, p spec.Storage, f Facts) (scheme, error) {
	s := scheme{policy: p, backend: backend, data: max(1, int(p.Stripe)), copies: 1, chunk: int64(p.StripeSize), checksum: "none"}
	if p.Redundancy == "parity" {
		s.parity = int(p.Tolerate)
	} else {
		s.copies = 1 + int(p.Tolerate)
	}
	if n := s.disks(); n > maxDisks {
		return s, fmt.Errorf("storage: the policy needs %d disks for each volume: the most is %d", n, maxDisks)
	}
	var err error
	switch backend {
	case Directory:
		s.asDirectory()
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

// choose finds the backend of a policy that names none.
func choose(p spec.Storage, f Facts) (string, error) {
	if p.Size == 0 && !needsDisks(p) {
		return Directory, nil
	}
	oneDisk := p.Stripe <= 1 && p.Tolerate == 0
	checked := p.Checksum != nil && *p.Checksum
	switch {
	case oneDisk && p.Filesystem != "btrfs" && !checked && p.StripeSize == 0:
		return Disk, nil
	case p.Redundancy == "parity" || p.StripeSize > 0 || p.Filesystem == "xfs" || p.Filesystem == "ext4" || stripedDeep(p):
		return chooseRAID(p, f)
	case f.Btrfs.OK() || checked || p.Filesystem == "btrfs":
		return Btrfs, nil
	case f.MD.OK():
		return MD, nil
	case f.LVM.OK():
		return LVM, nil
	}
	return Btrfs, nil // which then says what is missing
}

// stripedDeep says whether a policy stripes more than two copies, which btrfs cannot.
func stripedDeep(p spec.Storage) bool {
	return p.Redundancy != "parity" && p.Stripe > 1 && p.Tolerate > 1
}

// chooseRAID finds what can do what btrfs cannot, or says how to ask for less.
func chooseRAID(p spec.Storage, f Facts) (string, error) {
	checked := p.Checksum != nil && *p.Checksum
	if checked && (p.Filesystem == "xfs" || p.Filesystem == "ext4") {
		return "", fmt.Errorf("storage: %s has no checksums of data: use filesystem: btrfs, or checksum: false", p.Filesystem)
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
	why := fmt.Sprintf("md and LVM cannot be used here (%s; %s)", orElse(f.lacks("md", f.MD), "md does not fit the policy"), orElse(f.lacks("lvm", f.LVM), "LVM does not fit the policy"))
	if checked {
		why = "md and LVM have no checksums of data"
	}
	switch {
	case p.Redundancy == "parity":
		return "", fmt.Errorf("storage: parity is not chosen on btrfs by itself, because its RAID 5 and 6 are not safe, and %s: use redundancy: mirror, or backend: btrfs to have it all the same", why)
	case p.StripeSize > 0:
		return "", fmt.Errorf("storage: stripe_size can be set with md and LVM only, and %s: leave it out to use btrfs, whose stripes are 64 KiB", why)
	case p.Filesystem != "":
		return "", fmt.Errorf("storage: %s on more than one disk needs md or LVM, and %s: use filesystem: btrfs, or one disk", p.Filesystem, why)
	}
	return "", fmt.Errorf("storage: striping %d copies needs md, and %s: use stripe: 1 (btrfs keeps %d copies), or tolerate: 1 (btrfs raid10)", p.Tolerate+1, why, p.Tolerate+1)
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
