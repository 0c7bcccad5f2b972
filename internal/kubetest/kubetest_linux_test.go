package kubetest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-bench/plimsoll/disk/disktest"
	"github.com/plimsoll-bench/plimsoll/internal/childproc"
	"github.com/plimsoll-bench/plimsoll/internal/filelock"
	"github.com/plimsoll-bench/plimsoll/internal/mountinfo"
)

// TestKilled starts a cluster in another process, kills that process, and uses a cluster of its own.
func TestKilled(t *testing.T) {
	if os.Getenv("PLIMSOLL_KUBETEST_CHILD") != "" {
		if _, ok := Start(t); ok {
			fmt.Println("ready")
			select {}
		}
		return
	}
	t.Cleanup(func() { nothingIsLeft(t) })
	if p, _, err := find(); err == nil && p.missing() == "" && os.Geteuid() == 0 {
		killed(t)
	}
	if !disktest.Able(t) {
		return
	}
	disk := disktest.Make(t, "ext4", 20, "")
	c, ok := Start(t)
	if !ok {
		return
	}
	leavesAlone(t, c, disk)
	ctx := context.Background()
	if _, err := c.Client.BatchV1().Jobs("default").Create(ctx, job(), meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Await(t, "complete job", func(ctx context.Context) bool {
		j, err := c.Client.BatchV1().Jobs("default").Get(ctx, "four", meta.GetOptions{})
		return err == nil && j.Status.Succeeded == 4
	})
	list, err := c.Client.CoreV1().Pods("default").List(ctx, meta.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	on := map[string]int{}
	for _, p := range list.Items {
		on[p.Spec.NodeName]++
	}
	if on["n1"] != 2 || on["n2"] != 2 {
		t.Errorf("pods by node: %v, want two on each", on)
	}
	c.Cut(t, "n1")
	c.Kill("n2")
	c.awaitReady(t, "n1", core.ConditionUnknown)
	c.awaitReady(t, "n2", core.ConditionUnknown)
	c.Mend(t, "n1")
	c.awaitReady(t, "n1", core.ConditionTrue)
}

// A wait ends at once if a volume cannot be made, and says why. Other errors of the controller may pass.
func TestVolumeThatCannotBeMade(t *testing.T) {
	c := &Cluster{}
	never := func(context.Context) bool { return false }
	c.storage.set(errors.New("attached to n1 and wanted by n2"))
	if last, final := c.storage.known(); last == nil || final {
		t.Errorf("an error that passes: %v, %t", last, final)
	}
	ctl := &controller{c, filepath.Join(t.TempDir(), "none")}
	c.storage.set(errors.Join(nil, unmade{ctl.format("volume", Disk, 1<<20)}))
	if err := c.await("member", never); err == nil || !strings.Contains(err.Error(), "no member: ") || !strings.Contains(err.Error(), "none/volume.0") {
		t.Error(err)
	}
}

// leavesAlone finds nodes of the cluster that have a copy of the mount of a disk, which nobody could remove before the
// node ends. Other tests of this machine may have one, too.
func leavesAlone(t *testing.T, c *Cluster, disk *disktest.Volume) {
	mine, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("/proc/[0-9]*/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range files {
		of := filepath.Dir(file)
		groups, _ := os.ReadFile(filepath.Join(of, "cgroup")) // a process that has ended has no files
		namespace, err := os.Readlink(filepath.Join(of, "ns/mnt"))
		if err != nil || namespace == mine || !bytes.Contains(groups, []byte("/"+c.groups.name+"/")) {
			continue
		}
		mounts, err := mountinfo.Read(file)
		if err != nil {
			continue
		}
		seen++
		if slices.ContainsFunc(mounts, func(m mountinfo.Mount) bool { return m.Point == disk.Dir }) {
			command, _ := os.ReadFile(filepath.Join(of, "comm")) // for the message only
			t.Errorf("%s keeps %s in use", command, disk.Device)
		}
	}
	if seen < len(Nodes) {
		t.Errorf("%d processes of nodes have mounts of their own, want at least %d", seen, len(Nodes))
	}
}

func killed(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$", "-test.v")
	cmd.Env = append(os.Environ(), "PLIMSOLL_KUBETEST_CHILD=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := childproc.Start(cmd); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "ready" {
		t.Log(lines.Text())
	}
	if lines.Text() != "ready" {
		t.Fatalf("the other process did not start a cluster: %v", cmd.Wait())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
}

func (c *Cluster) awaitReady(t *testing.T, name string, want core.ConditionStatus) {
	t.Helper()
	c.Await(t, fmt.Sprintf("node %s with Ready=%s", name, want), func(ctx context.Context) bool {
		n, err := c.Client.CoreV1().Nodes().Get(ctx, name, meta.GetOptions{})
		return err == nil && Ready(n) == want
	})
}

func job() *batch.Job {
	four, mode, no := int32(4), batch.IndexedCompletion, false
	labels := map[string]string{"job-name": "four"}
	return &batch.Job{
		ObjectMeta: meta.ObjectMeta{Name: "four"},
		Spec: batch.JobSpec{Completions: &four, Parallelism: &four, CompletionMode: &mode, Template: core.PodTemplateSpec{
			Spec: core.PodSpec{
				RestartPolicy: core.RestartPolicyNever, AutomountServiceAccountToken: &no, EnableServiceLinks: &no,
				TopologySpreadConstraints: []core.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: core.LabelHostname,
					WhenUnsatisfiable: core.DoNotSchedule, LabelSelector: &meta.LabelSelector{MatchLabels: labels}}},
				Containers: []core.Container{{Name: "c", Image: pauseImage, ImagePullPolicy: core.PullNever,
					Command: []string{"/catatonit", "-V"}}},
			},
		}},
	}
}

func nothingIsLeft(t *testing.T) {
	if p, _, err := find(); err == nil && p.missing() == "" {
		// That of another package may run since.
		unlock, err := filelock.Await(context.Background(), filepath.Join(p.cache, "lock"), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer unlock()
	}
	if groups, _ := filepath.Glob("/sys/fs/cgroup/*/plimsoll-kubetest"); len(groups) > 0 {
		t.Errorf("control groups are left: %v", groups)
	}
	if p, _, err := find(); err == nil {
		if _, err := os.Stat(filepath.Join(p.cache, "run")); err == nil {
			t.Error("files are left")
		}
	}
	if i, err := net.InterfaceByName(machineLink); err == nil {
		t.Errorf("the interface %s is left", i.Name)
	}
}
