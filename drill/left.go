package drill

import "github.com/plimsoll-bench/plimsoll/record"

// Left says which drill brought a lab up, by the directory of its record, if that drill is over, so that nobody needs
// the lab any more: it was killed, or could not remove it. Otherwise owner is empty, and why says whose the lab is, to
// be read after "there is a lab already".
//
// That a drill is over is known from its lock, which the kernel drops with its process: no process identifier can be
// taken for another one's.
func Left(l *record.Lab) (owner, why string) {
	owner = l.Specification.Labels[labLabel]
	if owner == "" {
		return "", "which no drill brought up"
	}
	d, err := record.OpenDrill(owner)
	switch {
	case err != nil || d.Specification.Lab == nil || d.Specification.Lab.Name != l.Name:
		return "", "of a drill whose record was in " + owner + " and is not there any more"
	case d.Status == record.Running:
		return "", "of the drill that is under way in " + owner
	}
	return owner, ""
}
