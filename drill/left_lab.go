package drill

import "github.com/plimsoll-bench/plimsoll/record"

// Left returns the drill that brought a lab up, by the directory of its record, if that drill has ended and the lab is
// no longer needed: the drill was killed, or could not remove the lab. Otherwise owner is empty and why says whose the
// lab is.
//
// A drill is over when its lock is free. The kernel frees it with the process, so no other process can be mistaken for
// the drill's.
func Left(l *record.Lab) (owner, why string) {
	owner = l.Specification.Labels[labLabel]
	if owner == "" {
		return "", "no drill brought it up"
	}
	d, err := record.OpenDrill(owner)
	switch {
	case err != nil || d.Specification.Lab == nil || d.Specification.Lab.Name != l.Name:
		return "", "it belongs to a drill whose record in " + owner + " is gone"
	case d.Status == record.Running:
		return "", "it belongs to the drill that is running in " + owner
	}
	return owner, ""
}
