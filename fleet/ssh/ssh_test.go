package ssh

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/plimsoll-bench/plimsoll/fleet"
	"github.com/plimsoll-bench/plimsoll/fleet/nats"
	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/run"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// patience guards against a hang.
const patience = 10 * time.Minute

// TestMain makes the test binary an agent if sshd starts it under the name of plimsoll.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "plimsoll" {
		os.Exit(m.Run())
	}
	token, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err == nil {
		to := nats.Server{URL: os.Args[3], Token: strings.TrimSpace(token)}
		err = nats.Serve(context.Background(), nats.AgentOptions{Server: to, Leave: true, Gone: time.Minute}, fleet.Agent{})
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

const sshd = "/usr/sbin/sshd"

// newKey returns a key and its public part, as ssh writes them.
func newKey(t *testing.T) (private, public string) {
	t.Helper()
	pub, secret, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(secret, "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := ssh.NewPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block)), string(ssh.MarshalAuthorizedKey(p))
}

// hosts starts an sshd on loopback and returns an ssh program that knows it as two hosts, load1 and load2.
func hosts(t *testing.T) (program string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	secret, hostKey := newKey(t)
	host := write("host", secret, 0o600)
	secret, userKey := newKey(t)
	user := write("user", secret, 0o600)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "plimsoll")); err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	config := write("sshd_config", fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\n"+
		"UsePAM no\nStrictModes no\nPermitRootLogin yes\nSetEnv PATH=%s:/usr/bin:/bin\n",
		port, host, write("authorized", userKey, 0o600), dir), 0o600)
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(sshd, "-D", "-e", "-f", config)
	log, err := os.Create(filepath.Join(dir, "sshd.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("sshd:\n%s", text)
		}
	})
	address := fmt.Sprintf("127.0.0.1:%d", port)
	for limit := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
			break
		}
		if time.Now().After(limit) {
			t.Fatal(err)
		}
	}
	known := write("known_hosts", fmt.Sprintf("[127.0.0.1]:%d %s", port, hostKey), 0o600)
	client := write("ssh_config", fmt.Sprintf("Host load1 load2\n  HostName 127.0.0.1\n  Port %d\n  IdentityFile %s\n"+
		"  IdentitiesOnly yes\n  UserKnownHostsFile %s\n  StrictHostKeyChecking yes\n", port, user, known), 0o600)
	return write("ssh", fmt.Sprintf("#!/bin/sh\nexec ssh -F %s \"$@\"\n", client), 0o755)
}

// freePort is below the ports that the kernel gives to others before sshd listens.
func freePort(t *testing.T) int {
	t.Helper()
	for range 1000 {
		port := 10000 + mathrand.IntN(10000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("there is no free port")
	return 0
}

func coordinator(t *testing.T) (c *nats.Coordinator, dir string) {
	t.Helper()
	dir = t.TempDir()
	c, err := nats.Open(t.Context(), nats.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, dir
}

// A run has three agents on two hosts, and nothing is left of them.
func TestRun(t *testing.T) {
	if _, err := os.Stat(sshd); err != nil && os.Getenv("PLIMSOLL_REQUIRE_ENGINE") == "" {
		notrun.Here(t, "there is no %s. Install the package openssh-server", sshd)
		return
	}
	program := hosts(t)
	c, dir := coordinator(t)
	place := New([]string{"load1", "load2"}, c, dir)
	place.program = program
	asked := spec.Run{Target: "null:"}
	asked.Load.Clients, asked.Load.Workers, asked.Load.Pace, asked.Load.Place = 3, 6, 20, "ssh:load1,load2"
	asked.Load.Duration, asked.Workload.Records = spec.Duration(3*time.Second), 1000
	if err := asked.Complete(); err != nil {
		t.Fatal(err)
	}
	record1 := filepath.Join(t.TempDir(), "record")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := fleet.Execute(ctx, asked, run.Options{Dir: record1},
		fleet.Options{Places: func(string) (fleet.Placer, error) { return place, nil }}); err != nil {
		t.Fatal(err)
	}
	r, err := record.OpenRun(record1)
	if err != nil {
		t.Fatal(err)
	}
	for _, client := range r.Clients {
		if client.Status != "complete" || client.Succeeded == 0 || client.Agent == "" {
			t.Errorf("client %+v", client)
		}
	}
	if len(r.Clients) != 3 {
		t.Errorf("%d clients, want 3", len(r.Clients))
	}
	if err := place.End(); err != nil {
		t.Error(err)
	}
}

// What a person must change is said.
func TestCannotPlace(t *testing.T) {
	if _, err := os.Stat(sshd); err != nil && os.Getenv("PLIMSOLL_REQUIRE_ENGINE") == "" {
		notrun.Here(t, "there is no %s. Install the package openssh-server", sshd)
		return
	}
	program := hosts(t)
	for host, want := range map[string]string{
		"load1":     "has no plimsoll on its PATH",
		"127.0.0.2": "ssh cannot reach 127.0.0.2, or cannot log in without a question",
	} {
		c, dir := coordinator(t)
		place := New([]string{host}, c, dir)
		place.program = program
		if err := os.Remove(filepath.Join(filepath.Dir(program), "plimsoll")); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := place.Place(ctx, 1, nil)
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", host, err, want)
		}
		if err := place.End(); err != nil {
			t.Error(err)
		}
	}
}
