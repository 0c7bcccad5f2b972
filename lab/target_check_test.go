package lab

import (
	"errors"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// What cannot be broken in a lab is said before there is load on it.
func TestCheckTarget(t *testing.T) {
	l := record.Lab{
		Hosts:   []record.LabHost{{Name: "host1"}, {Name: "host2"}},
		Members: []record.LabMember{{Name: "rs0-1"}, {Name: "rs0-2"}},
		Volumes: []record.LabVolume{{Name: "rs0-1", Layout: record.LabLayout{Backend: "directory"}}, {Name: "rs0-2", Layout: record.LabLayout{Backend: "directory"}}},
	}
	l.Specification.Hosts.Mode = spec.LabPlain
	sized := l
	sized.Volumes = []record.LabVolume{{Name: "rs0-1", Layout: record.LabLayout{Backend: "disk"}}}
	faulty := sized
	faulty.Specification.Storage.Faults = true
	classed := sized
	classed.Specification.Storage.Device = "nvme"
	apart := l
	apart.Specification.Hosts.Mode = "isolated"
	for _, c := range []struct {
		lab            record.Lab
		action, target string
		want           string
	}{
		{l, Kill, "primary", ""},
		{l, Kill, "rs0/primary", ""},
		{l, Kill, "pg-2", ""}, // the former name
		{sized, DiskFail, "primary/d1", ""},
		{sized, DiskFail, "rs0/secondary/d1", ""},
		{sized, Kill, "primary/d1", "name primary for the member"},
		{sized, DiskFail, "primry/d1", "there is no \"primry/d1\""},
		{sized, DiskFail, "host1/d1", "host1/d1 is a host"},
		{l, Kill, "rs0-2", ""},
		{l, PowerOff, "host2", ""},
		{l, PowerOff, "primary", ""},
		{l, Kill, "primry", "did you mean primary?"},
		{l, Kill, "host3", `there is no "host3"`},
		{l, Cut, "host1", "--hosts isolated"},
		{apart, Cut, "host1", ""},
		{apart, Slow, "primary", ""},
		{l, DiskFail, "host1", "host1 is a host"},
		{l, DiskFail, "primary", "are directories: bring it up with --size (storage"},
		{l, DiskLie, "primary", "--size and --faults"},
		{l, PowerLoss, "host1", "--size and --faults"},
		{sized, DiskFail, "rs0-1/d1", ""},
		{sized, Kill, "rs0-1/d1", "name rs0-1 for the member"},
		{sized, DiskLie, "rs0-1/d1", "--size and --faults"},
		{faulty, DiskLie, "rs0-1/d1", ""},
		{faulty, PowerLoss, "host1", ""},
		{classed, PowerLoss, "host1", ""},
	} {
		err := CheckTarget(c.lab, Fault{Action: c.action, Target: c.target})
		switch {
		case c.want == "" && err != nil, c.want != "" && err == nil:
			t.Errorf("%s:%s: error %v, want %q", c.action, c.target, err, c.want)
		case err != nil && (!errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s:%s: error %v, want one with %q", c.action, c.target, err, c.want)
		}
	}
}
