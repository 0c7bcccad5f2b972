package cgroup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Limits apply from the own control group up to the root, in both versions.
func TestCgroupDirs(t *testing.T) {
	const mixed = "9:name=systemd:/\n4:cpu,cpuacct:/a/b\n3:memory:/m\n0::/user.slice/x\n"
	for _, c := range []struct {
		own, controller string
		want            []string
	}{
		{mixed, "", []string{"/r", "/r/user.slice/x", "/r/user.slice"}},
		{mixed, "cpu", []string{"/r", "/r/a/b", "/r/a"}},
		{mixed, "memory", []string{"/r", "/r/m"}},
		{mixed, "cpuset", []string{"/r"}},
		{"0::/", "", []string{"/r"}},
		{"", "cpu", []string{"/r"}},
		{"nonsense\n1:cpu", "cpu", []string{"/r"}},
	} {
		if diff := cmp.Diff(c.want, Dirs("/r", c.own, c.controller)); diff != "" {
			t.Errorf("%q of %q (-want +got):\n%s", c.controller, c.own, diff)
		}
	}
}
