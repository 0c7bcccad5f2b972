package host_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/plimsoll-bench/plimsoll/lab/host"
)

// A program that takes more memory than its host has is killed, and the host lives on.
func TestMemory(t *testing.T) {
	g, ok := isolatedGround(t)
	if !ok {
		return
	}
	h := g.host(t, "host1", host.Limits{Memory: 64 << 20})
	eat := func(mib int) string {
		n := strconv.Itoa(mib << 20)
		out, err := h.Run(t.Context(), shellSpec("head -c "+n+" /dev/zero | tail -c "+n+" >/dev/null; echo $?"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Fields(string(out))
		return lines[len(lines)-1]
	}
	if status := eat(10); status != "0" {
		t.Errorf("10 MiB: status %s", status)
	}
	if status := eat(300); status != "137" {
		t.Errorf("300 MiB of 64: status %s, not that of a program that was killed", status)
	}
	if h.State() != host.On {
		t.Errorf("state %s", h.State())
	}
	if n := h.(host.Memory).OutOfMemory(); n == 0 {
		t.Error("the host does not say that the kernel killed a process")
	}
	if err := errors.Join(h.PowerOff(t.Context()), h.PowerOn(t.Context())); err != nil {
		t.Fatal(err)
	}
	if n := h.(host.Memory).OutOfMemory(); n != 0 {
		t.Errorf("after a power-on %d processes were killed", n)
	}
}

// Programs of Go are told what their host may use, those that share it their part, and those of a host without limits
// nothing.
func TestGoIsToldItsLimits(t *testing.T) {
	g, ok := isolatedGround(t)
	if !ok {
		return
	}
	for want, l := range map[string]host.Limits{
		"GOMAXPROCS=1 GOMEMLIMIT=80000000": {Cores: 0.5, Memory: 100_000_000},
		"":                                 {},
	} {
		h := g.host(t, "host"+strconv.Itoa(len(want)), l)
		out, err := h.Run(t.Context(), shellSpec("env | grep -E '^GOM(AXPROCS|EMLIMIT)=' | sort"))
		if err != nil && want != "" {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(string(out)), " "); got != want {
			t.Errorf("with %+v a program sees %q, want %q", l, got, want)
		}
		if want == "" {
			continue
		}
		shared := shellSpec("echo $GOMEMLIMIT")
		shared.Also = l.ForGo(4)
		if out, err := h.Run(t.Context(), shared); err != nil || strings.TrimSpace(string(out)) != "20000000" {
			t.Errorf("one of four programs may use %q (%v)", out, err)
		}
	}
}
