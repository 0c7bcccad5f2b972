package observe

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-bench/plimsoll/record"
)

// What this machine says of itself has known units and possible values.
func TestHost(t *testing.T) {
	h, err := NewHost()
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := h.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := Reading{}
	for limit := time.Now().Add(10 * time.Minute); r.Values["cpu.busy"] == 0; { // until the kernel counted a tick
		if r, err = h.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(limit) {
			t.Fatalf("nothing was busy for a minute: %v", r.Values)
		}
	}
	if !strings.HasPrefix(r.Source, "host:") {
		t.Errorf("the source is %q", r.Source)
	}
	for name, x := range r.Values {
		unit := record.UnitOf(name)
		if unit == "" || x < 0 || unit == "share" && x > 1 {
			t.Errorf("%s is %v %s", name, x, unit)
		}
	}
	for _, name := range []string{"cpu.user", "cpu.system", "cpu.iowait", "cpu.steal", "cpu.used", "memory.used", "memory.available"} {
		if _, ok := r.Values[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestPartition(t *testing.T) {
	for _, c := range []struct {
		disk, device string
		want         bool
	}{
		{"sda", "sda1", true}, {"sda", "sda12", true}, {"sda", "sda", false}, {"sda", "sdaa", false}, {"nvme0n1", "nvme0n1p2", true},
		{"vda", "vdb1", false}, {"dm-0", "dm-1", false}, {"mmcblk0", "mmcblk0p1", true}, {"mmcblk0", "mmcblk0boot0", false},
	} {
		if got := partition(c.disk, c.device); got != c.want {
			t.Errorf("%s is a partition of %s: %v", c.device, c.disk, got)
		}
	}
}

// The processes that make the load count together, and one that has ended does no harm.
func TestClient(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	c, err := NewClient(func() []int { return []int{os.Getppid(), cmd.Process.Pid} })
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	alone, err := NewClient(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	one, err := alone.Look(t.Context()) // before the other: the threads of a Go process only grow in number
	if err != nil || one.Source != "client" {
		t.Fatalf("source %q: %v", one.Source, err)
	}
	both, err := c.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if one.Values["memory.resident"] <= 0 || both.Values["threads"] <= one.Values["threads"] {
		t.Errorf("this process: %v, with its parent: %v", one.Values, both.Values)
	}
	if _, ok := one.Values["cpu.used"]; ok {
		t.Error("the first look has a rate")
	}
	if r, _ := alone.Look(t.Context()); r.Values["cpu.used"] < 0 {
		t.Errorf("second look %v", r.Values)
	} else if _, ok := r.Values["cpu.used"]; !ok {
		t.Errorf("the second look has no rate: %v", r.Values)
	}
}

// A service is a source of its own, and its processor time can be read at any moment as long as it runs.
func TestService(t *testing.T) {
	s, err := NewService(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r, err := s.Look(t.Context()); err != nil || r.Source != "service" || r.Values["memory.resident"] <= 0 {
		t.Errorf("seen of a service: %+v, %v", r, err)
	}
	before, memory, ok := ProcessUse(os.Getpid())
	if !ok || memory <= 0 {
		t.Fatalf("nothing is known of this process: %v, %d", before, memory)
	}
	x := 0
	for limit, now := time.Now().Add(10*time.Minute), before; now <= before; now, _, _ = ProcessUse(os.Getpid()) {
		for i := range 1_000_000 {
			x += i
		}
		if time.Now().After(limit) {
			t.Fatalf("a minute of work took no processor time (%d)", x)
		}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := ProcessUse(cmd.Process.Pid); ok {
		t.Error("a process that has ended uses something")
	}
}

// What a look costs: less than 1 % of a core at one look per second.
func BenchmarkHost(b *testing.B) {
	h, err := NewHost()
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.Look(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkClient(b *testing.B) {
	c, err := NewClient(nil)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Look(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
