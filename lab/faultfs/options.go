package faultfs

import (
	"fmt"
	"log"
)

// FSType is the type of the mounts of [Serve] in /proc/self/mountinfo.
const FSType = "fuse." + fsName

const fsName = "plimsoll-faultfs"

// Options are the options of [Serve].
type Options struct {
	// Data is the directory of the disks' contents, made if it does not exist. Existing disks in it are served.
	Data string
	// Mount is the mount point, an empty directory, made if it does not exist.
	Mount string
	// Socket is the path of the control socket. It exists only when the disks are usable.
	Socket string
	Log    *log.Logger // may be nil
	// Ready is called when the disks are usable; may be nil.
	Ready func()
	// Restart executes the program again in this process, with the same arguments, and returns only if that fails. A
	// program with cgo needs it to set an attribute of all its threads; may be nil.
	Restart func() error
}

// longestSocket is the kernel's limit for the address of a socket, 108 bytes, without the zero at its end and the
// character that [listen] appends at first.
const longestSocket = 106

func (o Options) check() error {
	required := []struct{ name, value string }{{"data directory", o.Data}, {"mount point", o.Mount},
		{"control socket", o.Socket}}
	for _, x := range required {
		if x.value == "" {
			return fmt.Errorf("faultfs needs a %s", x.name)
		}
	}
	if len(o.Socket) > longestSocket {
		return fmt.Errorf("the path of the control socket has %d characters, the maximum is %d: %s",
			len(o.Socket), longestSocket, o.Socket)
	}
	return nil
}
