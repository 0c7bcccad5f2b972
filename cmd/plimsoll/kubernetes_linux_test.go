package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-bench/plimsoll/internal/kubetest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// pods is a Kubernetes with two StorageClasses, and the commands that use it.
type inCluster struct {
	*kubetest.Cluster
	t    *testing.T
	dir  string
	home string
}

// TestKubernetes runs the commands that make something in a Kubernetes.
func TestKubernetes(t *testing.T) {
	_, image, ok := kubetest.Plimsoll(t, "plimsoll:test")
	if !ok {
		return
	}
	c, ok := kubetest.Start(t)
	if !ok {
		return
	}
	c.Load(t, image)
	k := &inCluster{Cluster: c, t: t, dir: t.TempDir(), home: t.TempDir()}
	k.makeClasses()
	k.probeAndExamine()
	k.killedProbe()
}

// makeClasses makes the StorageClasses fast and slow. Each has volumes that are directories of this machine, which both
// nodes have.
func (k *inCluster) makeClasses() {
	k.t.Helper()
	wait := storage.VolumeBindingWaitForFirstConsumer
	for _, name := range []string{"fast", "slow"} {
		class := &storage.StorageClass{ObjectMeta: meta.ObjectMeta{Name: name}, Provisioner: "kubernetes.io/no-provisioner",
			VolumeBindingMode: &wait}
		if _, err := k.Client.StorageV1().StorageClasses().Create(k.t.Context(), class, meta.CreateOptions{}); err != nil {
			k.t.Fatal(err)
		}
		for i := range 8 {
			volume := fmt.Sprintf("%s-%d", name, i)
			dir := filepath.Join(k.dir, volume)
			if err := os.Mkdir(dir, 0o700); err != nil {
				k.t.Fatal(err)
			}
			if err := os.Chmod(dir, 0o777); err != nil { // pods have another user
				k.t.Fatal(err)
			}
			v := &core.PersistentVolume{ObjectMeta: meta.ObjectMeta{Name: volume}, Spec: core.PersistentVolumeSpec{
				Capacity:    core.ResourceList{core.ResourceStorage: resource.MustParse("8Gi")},
				AccessModes: []core.PersistentVolumeAccessMode{core.ReadWriteOnce}, StorageClassName: name,
				PersistentVolumeReclaimPolicy: core.PersistentVolumeReclaimRetain,
				PersistentVolumeSource:        core.PersistentVolumeSource{HostPath: &core.HostPathVolumeSource{Path: dir}}}}
			if _, err := k.Client.CoreV1().PersistentVolumes().Create(k.t.Context(), v, meta.CreateOptions{}); err != nil {
				k.t.Fatal(err)
			}
		}
	}
}

func (k *inCluster) command(args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		k.t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Args[0] = "plimsoll"
	cmd.Env = append(os.Environ(), "PLIMSOLL_HOME="+k.home, "KUBECONFIG="+k.Kubeconfig)
	return cmd
}

// run runs a command, and returns its exit code and all that it printed.
func (k *inCluster) run(args ...string) (int, string) {
	cmd := k.command(args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		k.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// in runs a pod of the test's image.
var inPod = []string{"--agent-image", "plimsoll:test", "--agent-cpu", "500m", "--agent-memory", "128Mi"}

// probeAndExamine probes both StorageClasses on both nodes and examines one of them, and checks that nothing is left.
func (k *inCluster) probeAndExamine() {
	out := filepath.Join(k.dir, "probes")
	args := append([]string{"disk", "--place", "kubernetes", "--storage-class", "fast,slow", "--profile", "journal",
		"--clients", "1", "--segment", "1MiB", "--duration", "200ms", "--size", "4MiB", "--force", "--out", out}, inPod...)
	code, text := k.run(args...)
	if code == exitFailure || code == exitUsage {
		k.t.Errorf("disk ended with %d:\n%s", code, text)
	}
	for _, name := range []string{"n1_fast", "n1_slow", "n2_fast", "n2_slow"} {
		p, err := record.OpenProbe(filepath.Join(out, name))
		if err != nil {
			k.t.Errorf("%v\n%s", err, text)
			continue
		}
		node, class, _ := strings.Cut(name, "_")
		if want := "StorageClass " + class + " on node " + node; p.Volume != want || p.Status != record.Complete || len(p.Steps) == 0 {
			k.t.Errorf("the probe %s is %s of %q with %d steps", name, p.Status, p.Volume, len(p.Steps))
		}
		for _, f := range p.Validity {
			if f.ID == "altered" || f.ID == "unsummed" {
				k.t.Errorf("%s: %s", name, f.Text)
			}
		}
	}
	page, err := os.ReadFile(filepath.Join(out, "report.html"))
	if err != nil || !strings.Contains(string(page), "n2_slow") || !strings.Contains(string(page), "commits/s") {
		k.t.Errorf("the page does not compare the probes: %v", err)
	}
	code, text = k.run(append([]string{"doctor", "--place", "kubernetes", "--storage-class", "fast", "--volume-size", "1MiB"}, inPod...)...)
	if code == exitFailure || code == exitUsage || !strings.Contains(text, "n1_fast") || !strings.Contains(text, "swappiness") {
		k.t.Errorf("doctor ended with %d:\n%s", code, text)
	}
	code, text = k.run(append([]string{"doctor", "--place", "kubernetes:n3", "--storage-class", "fast"}, inPod...)...)
	if code != exitUnreachable || !strings.Contains(text, "the cluster has no node n3") {
		k.t.Errorf("doctor on a node that does not exist ended with %d:\n%s", code, text)
	}
	k.nothingIsLeft("plimsoll-task")
}

// killedProbe kills a probe whose pod cannot start, and cleans up.
func (k *inCluster) killedProbe() {
	cmd := k.command(append([]string{"disk", "--place", "kubernetes:n1", "--storage-class", "fast", "--volume-size", "1TiB"}, inPod...)...)
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.Await(k.t, "claim of a probe", func(ctx context.Context) bool {
		list, err := k.Client.CoreV1().PersistentVolumeClaims("default").List(ctx, meta.ListOptions{LabelSelector: "app.kubernetes.io/name=plimsoll-task"})
		return err == nil && len(list.Items) > 0
	})
	if err := cmd.Process.Kill(); err != nil {
		k.t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	code, text := k.run("agents", "clean")
	if code != 0 || !strings.Contains(text, "removed the Job plimsoll-task-") {
		k.t.Errorf("agents clean ended with %d:\n%s", code, text)
	}
	k.nothingIsLeft("plimsoll-task")
}

// nothingIsLeft waits until the cluster has removed everything with a label.
func (k *inCluster) nothingIsLeft(name string) {
	k.t.Helper()
	all := meta.ListOptions{LabelSelector: "app.kubernetes.io/name=" + name}
	k.Await(k.t, "namespace without "+name, func(ctx context.Context) bool {
		jobs, err1 := k.Client.BatchV1().Jobs("default").List(ctx, all)
		sets, err2 := k.Client.AppsV1().StatefulSets("default").List(ctx, all)
		pods, err3 := k.Client.CoreV1().Pods("default").List(ctx, all)
		claims, err4 := k.Client.CoreV1().PersistentVolumeClaims("default").List(ctx, all)
		return err1 == nil && err2 == nil && err3 == nil && err4 == nil &&
			len(jobs.Items)+len(sets.Items)+len(pods.Items)+len(claims.Items) == 0
	})
}
