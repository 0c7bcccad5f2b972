package mountinfo

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	got := Parse(`22 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
30 22 0:30 /sub /mnt\0402 rw,noatime shared:1 - btrfs /dev/loop0 rw,space_cache=v2
90 1 0:51 / /a\134040 rw - fuse.plimsoll-faultfs x rw
36 35 98:0 / /m rw shared:1
nonsense

1 2 - 3
`)
	want := []Mount{
		{"254:0", "/", "/", "rw,relatime", "ext4", "/dev/vda", "rw,discard"},
		{"0:30", "/sub", "/mnt 2", "rw,noatime", "btrfs", "/dev/loop0", "rw,space_cache=v2"},
		{"0:51", "/", `/a\040`, "rw", "fuse.plimsoll-faultfs", "x", "rw"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`30 22 0:30 / /mnt\0402 rw,noatime shared:1 - btrfs /dev/loop0 rw`)
	f.Fuzz(func(_ *testing.T, text string) { _ = Parse(text) }) // it may not panic, whatever the text is
}
