package topology

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/lab/host"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The same on hosts with networks and memory of their own, where they can be cut off and lose power.
func TestDocumentDBIsolated(t *testing.T) {
	if _, ok := enginetest.DocumentDB(t); !ok {
		return
	}
	if err := host.Check(host.Isolated); err != nil {
		notrun.Here(t, "%v", err)
		return
	}
	t.Parallel() // it mostly waits
	u := bringUp(t, host.Isolated, func(s *spec.Lab) {
		s.Engine.Authentication, s.Engine.Connections = true, 4
		s.Hosts.Memory = 1 << 30
	})
	u.through(t, []step{
		{"clients have to say who they are", clientsAreAsked},
		{"the cache follows the host's memory", cacheFollowsMemory},
		{"gateways share the memory of their host", gatewaysShareMemory},
		{"a standby that is cut off is read", cutStandbyIsRead},
		{"an earlier primary is cut off", cutOffPrimary},
		{"its host loses power", powerOff},
	})
}

func clientsAreAsked(t *testing.T, u *underTest) {
	c := u.collection(t, "majority", "access")
	if err := insert(t.Context(), c, 1, patience); err != nil {
		t.Fatal(err)
	}
	saved := u.secrets
	for _, g := range u.gateways { // the same address without credentials
		if g.node.URI() == "mongodb://"+g.node.Address()+"/" {
			t.Errorf("%s has an address without credentials", g.plan.Name)
		}
	}
	if saved.Client == "" || saved.Client == saved.Postgres {
		t.Error("the clients' password is not one of its own")
	}
}

func cacheFollowsMemory(t *testing.T, u *underTest) {
	eventually(t, "the cache is not a quarter of what was given", func() error {
		for _, m := range u.Describe(t.Context(), Settings) {
			if m.Kind == "postgres" && m.Settings["shared_buffers"] != "256MB" {
				return fmt.Errorf("%s has shared_buffers %q", m.Name, m.Settings["shared_buffers"])
			}
		}
		return nil
	})
}

func gatewaysShareMemory(t *testing.T, u *underTest) {
	for _, g := range u.gateways {
		memory := g.node.Host().Limits().Memory
		if memory == 0 {
			t.Fatalf("%s has a host without a limit", g.plan.Name)
		}
		want := "GOMEMLIMIT=" + strconv.FormatInt(memory*8/10/int64(len(u.gateways)), 10)
		env, err := os.ReadFile("/proc/" + strconv.Itoa(g.node.Pids()[0]) + "/environ")
		if err != nil {
			t.Fatal(err)
		}
		if vars := strings.Split(string(env), "\x00"); !slices.Contains(vars, want) {
			t.Errorf("%s of %d has not %s", g.plan.Name, len(u.gateways), want)
		}
	}
}

// A primary that is cut off cannot be heard, so it is replaced; nothing that it still does is acknowledged. The gateway
// whose connections all hang is restarted. When the host of the former primary is reachable again it joins by itself.
func cutOffPrimary(t *testing.T, u *underTest) {
	old, since := u.whole(t), u.now()
	m := u.member(old)
	writing, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	begun := make(chan error, 16)
	for i := range cap(begun) { // more than the gateway's connections
		c := u.collection(t, "majority", "hang"+strconv.Itoa(i))
		all.Go(func() {
			begun <- insert(writing, c, 0, patience)
			(&writer{next: 1}).write(writing, c)
		})
	}
	defer all.Wait()
	defer stop()
	for range cap(begun) {
		if err := <-begun; err != nil {
			t.Fatal(err)
		}
	}
	if err := m.node.Host().Cut(t.Context(), nil, host.Both); err != nil {
		t.Fatal(err)
	}
	u.promoted(t, old)
	eventually(t, "the gateway was not restarted", func() error {
		if !slices.ContainsFunc(u.told("restart", since), func(e event) bool { return e.data["member"] == "gateway-majority" }) {
			return fmt.Errorf("%+v", u.told("restart", since))
		}
		return nil
	})
	stop()
	if err := insert(t.Context(), u.collection(t, "majority", "cut"), 1, patience); err != nil {
		t.Errorf("no majority without %s: %v", old, err)
	}
	if err := m.node.Host().Mend(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	u.whole(t)
	if _, ok := u.promotion(old, since); !ok {
		t.Errorf("promotions: %+v", u.told("promotion", since))
	}
}

// The host of the primary loses power. The member is started on another host, as high availability does.
func powerOff(t *testing.T, u *underTest) {
	old := u.whole(t)
	m := u.member(old)
	from := m.node.Host()
	if err := from.PowerOff(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := u.promoted(t, old)
	if err := m.node.Move(u.member(now).node.Host()); err != nil {
		t.Fatal(err)
	}
	if err := u.Return(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	u.whole(t)
	if err := m.node.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := from.PowerOn(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, e := range u.etcd {
		if err := u.Return(t.Context(), e.Name()); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.node.Move(from); err != nil {
		t.Fatal(err)
	}
	if err := u.Return(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if ip, _, _ := net.SplitHostPort(m.node.Address()); ip != from.Address() {
		t.Errorf("it is at %s, and its host at %s", ip, from.Address())
	}
}
