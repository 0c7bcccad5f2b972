package host_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/lab/process"
)

// isolatedGround makes a maker for isolated hosts, or says that this machine cannot.
func isolatedGround(t *testing.T) (*testMaker, bool) {
	t.Helper()
	t.Parallel()
	if !slices.Contains(modes(t), host.Isolated) {
		return nil, false
	}
	return newMaker(t, host.Isolated, t.TempDir()), true
}

// server starts the test's server on a host and returns its address.
func server(t *testing.T, h host.Host) string {
	t.Helper()
	port, err := h.Port()
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort(h.Address(), strconv.Itoa(port))
	if _, err := h.Start(t.Context(), helper("serve", address)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server answers the machine", func() bool {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return false
		}
		return c.Close() == nil
	})
	return address
}

// client is a program on a host, with one connection, that counts what the server answers.
type client struct {
	*process.Process
	file string
}

func newClient(t *testing.T, h host.Host, address string) client {
	t.Helper()
	c := client{file: filepath.Join(h.Dir(), "answers")}
	var err error
	if c.Process, err = h.Start(t.Context(), helper("count", address, c.file)); err != nil {
		t.Fatal(err)
	}
	c.goesOn(t)
	return c
}

// goesOn waits until it got some more answers.
func (c client) goesOn(t *testing.T) {
	t.Helper()
	begin := number(t, c.file)
	eventually(t, "more answers", func() bool { return number(t, c.file) >= begin+5 })
}

// hangs makes sure that it gets no answers while another client does, and still has its connection. One answer that
// arrived before the cut may be counted late, because the machine can be too busy to run the client.
func (c client) hangs(t *testing.T, other client) {
	t.Helper()
	other.goesOn(t) // what was on its way has arrived
	begin := number(t, c.file)
	for range 4 {
		other.goesOn(t)
	}
	if now := number(t, c.file); now > begin+1 || !c.Running() {
		t.Errorf("answers went on from %d to %d; running %v", begin, now, c.Running())
	}
}

// A cut makes connections hang; mending lets them go on. Others do not notice.
func TestCut(t *testing.T) {
	g, ok := isolatedGround(t)
	if !ok {
		return
	}
	h1, h2, h3 := g.host(t, "host1", host.Limits{}), g.host(t, "host2", host.Limits{}), g.host(t, "host3", host.Limits{})
	address := server(t, h1)
	c2, c3 := newClient(t, h2, address), newClient(t, h3, address)
	for _, c := range []struct {
		cut, mend, mendOther host.Host
		d                    host.Direction
		at1, at2             []string
	}{
		{h1, h1, h2, host.Both, []string{"host2"}, []string{"host1"}},
		{h2, h1, h2, "", []string{"host2"}, []string{"host1"}},
		{h1, h2, h1, host.In, []string{"host2 (in)"}, []string{"host1 (out)"}},
		{h1, h1, h2, host.Out, []string{"host2 (out)"}, []string{"host1 (in)"}},
		{h2, h2, h1, host.In, []string{"host2 (out)"}, []string{"host1 (in)"}},
	} {
		other := map[host.Host]host.Host{h1: h2, h2: h1}[c.cut]
		if err := c.cut.Cut(t.Context(), other, c.d); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([][]string{c.at1, c.at2, nil}, [][]string{h1.Cuts(), h2.Cuts(), h3.Cuts()}); diff != "" {
			t.Errorf("%s cut %s: %s", c.cut.Name(), c.d, diff)
		}
		c2.hangs(t, c3)
		if err := c.mend.Mend(t.Context(), map[host.Host]host.Host{h1: h2, h2: h1}[c.mend]); err != nil {
			t.Fatal(err)
		}
		if len(h1.Cuts())+len(h2.Cuts()) > 0 {
			t.Errorf("mended, but cut from %v and %v", h1.Cuts(), h2.Cuts())
		}
		c2.goesOn(t)
	}
	if err := h1.Cut(t.Context(), h1, host.Both); err == nil {
		t.Error("a host was cut off from itself")
	}
	if err := h1.Cut(t.Context(), h2, "sideways"); err == nil {
		t.Error("a host was cut sideways")
	}
}

// A host that is cut off from all does not reach the machine either, but itself.
func TestCutOffFromAll(t *testing.T) {
	g, ok := isolatedGround(t)
	if !ok {
		return
	}
	h1, h2, h3 := g.host(t, "host1", host.Limits{}), g.host(t, "host2", host.Limits{}), g.host(t, "host3", host.Limits{})
	address, address3 := server(t, h1), server(t, h3)
	own, c2, control := newClient(t, h1, address), newClient(t, h2, address), newClient(t, h3, address3)
	machine := newConnection(t, address)
	for _, d := range []host.Direction{host.Both, host.In, host.Out} {
		machine.ask(t)
		if err := h1.Cut(t.Context(), nil, d); err != nil {
			t.Fatal(err)
		}
		want := map[host.Direction]string{host.Both: "*", host.In: "* (in)", host.Out: "* (out)"}[d]
		if diff := cmp.Diff([]string{want}, h1.Cuts()); diff != "" {
			t.Error(diff)
		}
		machine.send(t)
		c2.hangs(t, control)
		c2.hangs(t, own)
		if machine.answered() {
			t.Errorf("the machine got an answer over a link that is cut %s", d)
		}
		if err := h1.Mend(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		machine.read(t)
		c2.goesOn(t)
	}
}

// Cuts that touch the same host stand beside each other, and each is mended alone.
func TestCutsOfOneHost(t *testing.T) {
	g, ok := isolatedGround(t)
	if !ok {
		return
	}
	h1, h2, h3 := g.host(t, "host1", host.Limits{}), g.host(t, "host2", host.Limits{}), g.host(t, "host3", host.Limits{})
	address := server(t, h1)
	own, c2, c3 := newClient(t, h1, address), newClient(t, h2, address), newClient(t, h3, address)
	check := func(when string, err error, want ...string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, h1.Cuts()); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
	}
	check("one", h1.Cut(t.Context(), h2, host.Both), "host2")
	check("two", h3.Cut(t.Context(), h1, host.In), "host2", "host3 (out)")
	c2.hangs(t, own)
	c3.hangs(t, own)
	check("three", h1.Cut(t.Context(), nil, host.Out), "* (out)", "host2", "host3 (out)")
	check("all are mended", h1.Mend(t.Context(), nil), "host2", "host3 (out)")
	c2.hangs(t, own)
	check("one is mended", h1.Mend(t.Context(), h2), "host3 (out)")
	c2.goesOn(t)
	c3.hangs(t, own)
	check("the last is mended", h1.Mend(t.Context(), h3))
	c3.goesOn(t)
}

// connection is one of the machine itself to a server on a host.
type connection struct {
	net.Conn
	in *bufio.Reader
}

func newConnection(t *testing.T, address string) *connection {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &connection{c, bufio.NewReader(c)}
}

func (c *connection) send(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(c, "hello\n"); err != nil {
		t.Fatal(err)
	}
}

func (c *connection) read(t *testing.T) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(limit))
	if line, err := c.in.ReadString('\n'); err != nil || line != "hello\n" {
		t.Fatalf("answer %q, error %v", line, err)
	}
}

func (c *connection) ask(t *testing.T) {
	t.Helper()
	c.send(t)
	c.read(t)
}

// answered says whether something came, be it the end.
func (c *connection) answered() bool {
	_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	_, err := c.in.Peek(1)
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

// A host that loses power says nothing more: connections hang, and are refused by what comes up in its place. Its
// address and its cuts stay.
func TestPowerFailureIsSilent(t *testing.T) {
	g, ok := isolatedGround(t)
	if !ok {
		return
	}
	h1, h2 := g.host(t, "host1", host.Limits{}), g.host(t, "host2", host.Limits{})
	address := server(t, h1)
	c := newConnection(t, address)
	c.ask(t)
	before := h1.Address()
	if err := errors.Join(h2.Cut(t.Context(), h1, host.Both), h1.PowerOff(t.Context())); err != nil {
		t.Fatal(err)
	}
	c.send(t)
	if c.answered() {
		t.Error("a host without power ended a connection")
	}
	if err := h1.PowerOn(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h1.Address() != before || !slices.Equal(h1.Cuts(), []string{"host2"}) {
		t.Errorf("address %s, was %s; cuts %v", h1.Address(), before, h1.Cuts())
	}
	newConnection(t, server(t, h1)).ask(t)
	eventually(t, "the old connection fails", func() bool {
		_, _ = io.WriteString(c, "hello\n") // it may have failed
		return c.answered()
	})
}

// A slow link carries no more than it may, in both directions, until it is as fast as before.
func TestSlow(t *testing.T) {
	g, ok := isolatedGround(t)
	if !ok {
		return
	}
	const rate = 256 << 10
	h := g.host(t, "host1", host.Limits{})
	address := server(t, h)
	if err := h.Slow(t.Context(), rate); err != nil {
		t.Fatal(err)
	}
	// Each direction is counted on the host's cable, for as long as the test wants to wait.
	for name, command := range map[string]string{"out": "flood\n", "in": "sink\n"} {
		c := newConnection(t, address)
		begin, from := usage(t, h), time.Now()
		if _, err := io.WriteString(c, command); err != nil {
			t.Fatal(err)
		}
		go func() {
			if name == "out" {
				_, _ = io.Copy(io.Discard, c)
				return
			}
			_, _ = io.Copy(c, zeros{})
		}()
		var moved int64
		eventually(t, "the link carries something", func() bool {
			now := usage(t, h)
			moved = now.Sent - begin.Sent
			if name == "in" {
				moved = now.Received - begin.Received
			}
			return moved > 2*rate
		})
		if most := int64(1.2*rate*time.Since(from).Seconds()) + rate; moved > most {
			t.Errorf("%s: %d bytes moved, at most %d may", name, moved, most)
		}
		c.Close()
	}
	if err := h.Slow(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	c := newConnection(t, address)
	if _, err := io.WriteString(c, "flood\n"); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(limit))
	if n, err := io.CopyN(io.Discard, c, 800*rate); err != nil { // 800 s at the old rate
		t.Errorf("only %d bytes moved after the link was fast again: %v", n, err)
	}
	if err := h.Slow(t.Context(), 1); err == nil {
		t.Error("a link of one byte per second")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func usage(t *testing.T, h host.Host) (u struct{ CPU, Throttled, Sent, Received, Written int64 }) {
	t.Helper()
	now, err := h.Usage()
	if err != nil {
		t.Fatal(err)
	}
	u.CPU, u.Throttled = int64(now.CPUSeconds*1e9), int64(now.ThrottledSeconds*1e9)
	u.Sent, u.Received, u.Written = now.Sent, now.Received, now.WriteBytes
	return u
}

// A host has no more processor time than it may.
func TestCores(t *testing.T) {
	g, ok := isolatedGround(t)
	if !ok {
		return
	}
	h := g.host(t, "host1", host.Limits{Cores: 0.2})
	from, begin := time.Now(), usage(t, h)
	for range 3 {
		shell(t, h, "while :; do :; done")
	}
	var now struct{ CPU, Throttled, Sent, Received, Written int64 }
	eventually(t, "throttled", func() bool {
		now = usage(t, h)
		return now.Throttled > 1e9 && time.Since(from) > 2*time.Second
	})
	if share := float64(now.CPU-begin.CPU) / float64(time.Since(from)); share > 0.3 {
		t.Errorf("it used %.2f cores of 0.2", share)
	}
}

// What a host writes to a device is bounded and counted.
func TestLimit(t *testing.T) {
	g, ok := isolatedGround(t)
	if !ok {
		return
	}
	device := loopDevice(t, 16<<20)
	h := g.host(t, "host1", host.Limits{})
	write := func() time.Duration {
		begin := time.Now()
		_, err := h.Run(t.Context(), process.Spec{Role: "dd", Path: "/usr/bin/dd",
			Args: []string{"if=/dev/zero", "of=" + device, "bs=64k", "count=32", "oflag=direct", "conv=notrunc"}})
		if err != nil {
			t.Fatal(err)
		}
		return time.Since(begin)
	}
	if err := h.Limit(t.Context(), []host.IOLimit{{Device: device, WriteBytes: 1 << 20}}); err != nil {
		t.Fatal(err)
	}
	if d := write(); d < time.Second { // 2 MiB
		t.Errorf("2 MiB were written in %v", d)
	}
	if w := usage(t, h).Written; w < 2<<20 || w > 8<<20 {
		t.Errorf("%d bytes are counted as written", w)
	}
	if err := errors.Join(h.PowerOff(t.Context()), h.PowerOn(t.Context())); err != nil {
		t.Fatal(err)
	}
	if d := write(); d < time.Second {
		t.Errorf("2 MiB were written in %v after power-on", d)
	}
	if err := h.Limit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	write()
	for _, device := range []string{"/dev/null", "/does/not/exist"} {
		if err := h.Limit(t.Context(), []host.IOLimit{{Device: device, WriteBytes: 1 << 20}}); err == nil {
			t.Errorf("%s was limited", device)
		}
	}
}

// loopDevice makes a loop device of a size in bytes.
func loopDevice(t *testing.T, size int64) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, size); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	device := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if out, err := exec.Command("losetup", "--detach", device).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return device
}

// Hosts of two labs have addresses of their own and do not reach each other.
func TestTwoLabs(t *testing.T) {
	g, ok := isolatedGround(t)
	if !ok {
		return
	}
	other := newMaker(t, host.Isolated, t.TempDir()) // with another home
	h, o := g.host(t, "host1", host.Limits{}), other.host(t, "host1", host.Limits{})
	if h.Address() == o.Address() {
		t.Fatalf("both have %s", h.Address())
	}
	address := server(t, o)
	newConnection(t, server(t, h)).ask(t)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	client := helper("count", address, filepath.Join(h.Dir(), "answers"))
	client.Log = nil
	if out, err := h.Run(ctx, client); err == nil || ctx.Err() != nil {
		t.Errorf("a host reached one of another lab: %s, error %v", out, err)
	}
	if err := h.Cut(t.Context(), o, host.Both); err == nil {
		t.Error("a host was cut off from one of another lab")
	}
}

// What a host is limited to can be asked of it, and what makes no sense is refused.
func TestLimitsOfIsolatedHosts(t *testing.T) {
	g, ok := isolatedGround(t)
	if !ok {
		return
	}
	l := host.Limits{Cores: 1.5, Memory: 64 << 20, Network: 1 << 20}
	if h := g.host(t, "host1", l); h.Limits() != l {
		t.Errorf("limits %+v", h.Limits())
	}
	for i, l := range []host.Limits{{Cores: 0.001}, {Cores: -1}, {Memory: 1}, {Network: 1}} {
		if _, err := g.Make(t.Context(), fmt.Sprint("bad", i), "member", l); err == nil {
			t.Errorf("a host has %+v", l)
		}
	}
}

// A program in a sandbox is in the host's namespace too, and ends with its power.
func TestSandboxOnHost(t *testing.T) {
	g, ok := isolatedGround(t)
	if !ok {
		return
	}
	h := g.host(t, "host1", host.Limits{})
	s := shellSpec("echo $$; cat /proc/net/dev")
	s.Sandbox = &process.Sandbox{}
	out, err := h.Run(t.Context(), s)
	if err != nil || !strings.HasPrefix(string(out), "1\n") || !strings.Contains(string(out), "eth0") ||
		strings.Contains(string(out), "plm") {
		t.Errorf("output %q, error %v", out, err)
	}
	s = shellSpec("sleep 600 & sleep 600")
	s.Sandbox = &process.Sandbox{}
	p, err := h.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.PowerOff(t.Context()); err != nil || p.Running() {
		t.Errorf("running %v, error %v", p.Running(), err)
	}
}
