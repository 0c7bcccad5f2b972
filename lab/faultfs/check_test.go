package faultfs

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestFaultsAreChecked(t *testing.T) {
	for _, c := range []struct {
		fault Fault
		want  string // "" is fine
	}{
		{Fault{Kind: Error}, ""},
		{Fault{Kind: Error, Ops: []string{"read", "flush"}, Errno: "ENXIO", Probability: 0.5, From: 1, To: 2, Limit: 1}, ""},
		{Fault{Kind: "eror"}, "did you mean error?"},
		{Fault{Kind: ""}, "there is no fault"},
		{Fault{Kind: Lie, Ops: []string{"write"}}, "never affects write"},
		{Fault{Kind: Full, Ops: []string{"read"}}, "never affects read"},
		{Fault{Kind: Error, Ops: []string{"fsync"}}, "no request"},
		{Fault{Kind: Error, Errno: "ENOSYS"}, "does not return"}, // the kernel would never ask again
		{Fault{Kind: Full, Errno: "EIO"}, "does not accept an errno"},
		{Fault{Kind: Slow}, "needs a delay"},
		{Fault{Kind: Slow, Delay: -1}, "below 0"},
		{Fault{Kind: Hang, Delay: 1}, "does not accept a delay"},
		{Fault{Kind: Hang, Limit: -1}, "below 0"},
		{Fault{Kind: Hang, Probability: 1.5}, "between 0 and 1"},
		{Fault{Kind: Hang, Probability: math.NaN()}, "between 0 and 1"},
		{Fault{Kind: Hang, From: 5, To: 5}, "to above from"},
		{Fault{Kind: Hang, From: -5}, "at least 0"},
	} {
		err := c.fault.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.fault, err, c.want)
		}
	}
}

func TestNamesSizesAndDevicesAreChecked(t *testing.T) {
	for _, bad := range []string{"", ".", "..", "a/b", "/a", "-a", "a b", "a\x00", "é", "all", strings.Repeat("a", 101)} {
		if checkName(bad) == nil {
			t.Errorf("the name %q is taken", bad)
		}
	}
	for _, bad := range []int64{0, -512, 511, 513, math.MaxInt64, maxDiskSize + 512} {
		if checkSize(bad) == nil {
			t.Errorf("the size %d is taken", bad)
		}
	}
	for _, bad := range []Device{{ReadLatency: -1}, {WriteLatency: 2 * time.Hour}, {ReadRate: 5}, {WriteRate: -1},
		{Parallel: 5000}, {Volatile: -1}} {
		if checkDevice(bad, nil) == nil || checkDevice(Device{}, &Cache{bad, 1}) == nil {
			t.Errorf("the device %+v is taken", bad)
		}
	}
	if checkDevice(Device{}, &Cache{}) == nil {
		t.Error("a cache of no size is taken")
	}
	for _, bad := range []PowerCut{{Keep: -0.1}, {Keep: 1.1}, {Keep: math.NaN()}, {Block: 100}, {Block: -512}} {
		if bad.Check() == nil {
			t.Errorf("the power cut %+v is taken", bad)
		}
	}
}

// Of many requests the given share is chosen, whatever the seed is.
func TestChance(t *testing.T) {
	for seed := range uint64(50) {
		n := 0
		for i := range uint64(10000) {
			if chance(seed, i, 0.1) {
				n++
			}
		}
		if n < 850 || n > 1150 { // five standard deviations
			t.Errorf("seed %d: %d of 10000 with a chance of 0.1", seed, n)
		}
	}
	if chance(1, 1, 0) || !chance(1, 1, 1) {
		t.Error("0 is never and 1 is always")
	}
}

func TestBitmap(t *testing.T) {
	b := bitmap{}
	in := map[int64]bool{}
	for _, x := range []int64{0, 1, 63, 64, 4095, chunkBits - 1, chunkBits, 5 * chunkBits, 1 << 33} {
		b.set(x)
		in[x] = true
	}
	b.unset(64)
	b.unset(77)
	delete(in, 64)
	n := 0
	for x, ok := b.next(0, 1<<34); ok; x, ok = b.next(x+1, 1<<34) {
		if n++; !in[x] || !b.has(x) {
			t.Errorf("%d is a member", x)
		}
	}
	if n != len(in) {
		t.Errorf("%d members, want %d", n, len(in))
	}
	b.unsetAll(1, chunkBits)
	if !b.has(0) || !b.has(chunkBits) || b.has(1) || b.has(chunkBits-1) {
		t.Error("not exactly the range was taken out")
	}
	if _, ok := b.next(1, chunkBits); ok {
		t.Error("the end belongs to the range")
	}
}
