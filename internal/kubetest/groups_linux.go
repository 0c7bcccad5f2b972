package kubetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// groups are the control groups of a cluster: those of version 2, or of all hierarchies of version 1.
type groups struct {
	mount   string // usually /sys/fs/cgroup
	name    string // of the group of the cluster, which has all others
	unified bool   // the controllers are those of version 2
}

func findGroups(mount, name string) groups {
	_, err := os.Stat(filepath.Join(mount, "cgroup.controllers"))
	return groups{mount: mount, name: name, unified: err == nil}
}

// dirs are the directories of a group.
func (g groups) dirs(group string) []string {
	if g.unified {
		return []string{filepath.Join(g.mount, g.name, group)}
	}
	var dirs []string
	all, _ := filepath.Glob(filepath.Join(g.mount, "*/tasks")) // the pattern is right
	for _, file := range all {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
			dirs = append(dirs, filepath.Join(dir, g.name, group))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// place is where the processes of a group run.
func (g groups) place(group string, network *namespace) process.Place {
	p := process.Place{Network: network.path()}
	if dirs := g.dirs(group); g.unified {
		p.Unified = dirs[0]
	} else {
		p.Groups = dirs
	}
	return p
}

// left are the directories that a cluster has or left. Beside hierarchies of version 1, one of version 2 may have some
// too.
func (g groups) left() []string {
	dirs, _ := filepath.Glob(filepath.Join(g.mount, "*", g.name)) // the pattern is right
	return append(dirs, filepath.Join(g.mount, g.name))
}

// make makes a group and those above it.
func (g groups) make(group string) error {
	dirs := g.dirs(group)
	if len(dirs) == 0 {
		return errors.New("the machine has no control groups")
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			return err
		}
		if strings.HasPrefix(dir, filepath.Join(g.mount, "cpuset")+"/") {
			if err := fill(filepath.Join(g.mount, "cpuset", g.name)); err != nil {
				return err
			}
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if !g.unified {
		return g.prefer("cpu.shares", "32768")
	}
	above := g.mount
	for name := range strings.SplitSeq(filepath.Join(g.name, group), "/") {
		if err := enable(above); err != nil {
			return err
		}
		above = filepath.Join(above, name)
	}
	return g.prefer("cpu.weight", "1250") // what container runtimes make of 32768 shares
}

// prefer gives the cluster the processor time of 32 processes. By default a control group, with all servers, nodes and
// pods in it, gets as much as one process outside: beside other tests a kubelet would do nothing for many seconds.
func (g groups) prefer(file, value string) error {
	for _, dir := range g.dirs("") {
		path := filepath.Join(dir, file)
		if _, err := os.Stat(path); err != nil {
			continue // the directory of another controller
		}
		if err := os.WriteFile(path, []byte(value), 0); err != nil {
			return err
		}
	}
	return nil
}

// fill gives a group of cpuset in version 1 what the group above has: it is empty at first. Those below copy it.
func fill(dir string) error {
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(dir), name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "cgroup.clone_children"), []byte("1"), 0)
}

// enable lets the groups below one of version 2 use all controllers that it has. The kubelet refuses a group without
// one of them. The group must have no processes itself.
func enable(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	var all []string
	for _, c := range strings.Fields(string(text)) {
		all = append(all, "+"+c)
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte(strings.Join(all, " ")), 0); err != nil {
		return fmt.Errorf("cannot enable the controllers %s in control groups: %w. A container must have the machine's cgroup "+
			"namespace", strings.TrimSpace(string(text)), err)
	}
	return nil
}
