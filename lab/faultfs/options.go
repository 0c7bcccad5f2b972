package faultfs

import (
	"fmt"
	"log"
)

// FSType is the type of the mounts that [Serve] makes, as /proc/self/mountinfo shows it.
const FSType = "fuse." + fsName

const fsName = "plimsoll-faultfs"

// Options are where a filesystem of virtual disks lives.
type Options struct {
	// Data is the directory for the contents of the disks. It is made if it does not exist. Disks that are in it
	// already are served again.
	Data string
	// Mount is where the disks appear as files; an empty directory, made if it does not exist.
	Mount string
	// Socket is the path of the control socket. It exists only once the disks can be used.
	Socket string
	// Log takes what is worth telling; nil for nothing.
	Log *log.Logger
	// Ready is called once the disks can be used; may be nil.
	Ready func()
	// Restart begins the program anew in this process, with the same arguments; it returns only if that fails. A
	// program with C in it needs it to set what belongs to each of its threads; may be nil.
	Restart func() error
}

func (o Options) check() error {
	for _, x := range []struct{ name, value string }{{"data directory", o.Data}, {"mount point", o.Mount}, {"control socket", o.Socket}} {
		if x.value == "" {
			return fmt.Errorf("faultfs needs a %s", x.name)
		}
	}
	// The kernel's limit for the address of a socket is 108 bytes with the zero at its end.
	if len(o.Socket) > 107 {
		return fmt.Errorf("the path of the control socket has %d characters, a socket can have 107: %s", len(o.Socket), o.Socket)
	}
	return nil
}
