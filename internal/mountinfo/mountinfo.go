// Package mountinfo reads the mounts of a process (man 5 proc_pid_mountinfo), and hides them from a command.
package mountinfo

import (
	"os"
	"strconv"
	"strings"
)

// Mount is one line of mountinfo.
type Mount struct {
	Number  string // major:minor
	Root    string
	Point   string
	Options string
	Type    string
	Source  string
	Super   string // options of the filesystem
}

// Self returns the mounts of this process, in the order of mounting. A later one hides earlier ones at the same point.
func Self() ([]Mount, error) { return Read("/proc/self/mountinfo") }

// Read is [Self] for another process, thread or /proc.
func Read(file string) ([]Mount, error) {
	text, err := os.ReadFile(file)
	return Parse(string(text)), err
}

// Parse reads lines such as "36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/root rw,errors=continue". It skips
// others.
func Parse(text string) []Mount {
	var list []Mount
	for line := range strings.Lines(text) {
		before, after, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 6 || len(g) < 3 {
			continue
		}
		list = append(list, Mount{Number: f[2], Root: unescape(f[3]), Point: unescape(f[4]), Options: f[5], Type: g[0],
			Source: unescape(g[1]), Super: g[2]})
	}
	return list
}

// unescape decodes the octal forms of blanks and backslashes.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// WithoutMounts makes a command of btrfs-progs see no mounts. Otherwise it queries the file of every mounted loop
// device, to check that its own device is not mounted, and fails if a query fails. The remains of one killed lab would
// then keep all others from making volumes. Use it only for a device that was attached a moment ago, so that it cannot
// be mounted.
func WithoutMounts(command []string) []string {
	return append([]string{"unshare", "--mount", "--propagation", "slave", "sh", "-c",
		`mount -n --bind /dev/null /proc/$$/mounts && exec "$@"`, "sh"}, command...)
}
