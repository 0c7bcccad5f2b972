package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	core "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-bench/plimsoll/internal/kubetest"
	"github.com/plimsoll-bench/plimsoll/internal/notrun"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/record"
)

// inCluster is a Kubernetes with two StorageClasses, and the commands that use it.
type inCluster struct {
	*kubetest.Cluster
	dir  string
	home string
}

// TestKubernetes runs the commands that make something in a Kubernetes.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	_, image, ok := kubetest.Plimsoll(t, "plimsoll:test")
	if !ok {
		return
	}
	mongod := mongodImage(t)
	c, ok := kubetest.Start(t)
	if !ok {
		return
	}
	c.Load(t, image, mongod)
	k := &inCluster{Cluster: c, dir: t.TempDir(), home: t.TempDir()}
	k.makeClasses(t)
	// Those of a list follow each other, and the lists are tested side by side.
	t.Run("parts", func(t *testing.T) {
		for name, list := range map[string][]func(*testing.T){"tasks": {k.probeAndExamine, k.killedProbe}, "labs": {k.killedLabs}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for _, test := range list {
					test(t)
				}
			})
		}
	})
	k.study(t) // after the removal of all agents
	k.replicaSet(t)
}

// mongodImage is an image of mongod: a real one where a test has it, else the stand-in.
func mongodImage(t *testing.T) (archive string) {
	root := t.TempDir()
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	add := map[string]string{"bin/sh": shell}
	addLibraries(t, add, shell)
	if real := os.Getenv(enginetest.RealMongoVar); real != "" {
		program := filepath.Join(real, "mongod")
		add["usr/bin/mongod"] = program
		addLibraries(t, add, program)
		return kubetest.Image(t, "mongod:test", root, add)
	}
	program := enginetest.StandinMongo(t, "8.0.12")
	add["usr/bin/mongod"], add["standin.json"] = program, filepath.Join(filepath.Dir(program), "standin.json")
	for name, mode := range map[string]os.FileMode{add["standin.json"]: 0o644, filepath.Join(root, "state"): 0o777 | os.ModeDir} {
		if mode.IsDir() {
			if err := os.Mkdir(name, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(name, mode.Perm()); err != nil { // pods have another user
			t.Fatal(err)
		}
	}
	return kubetest.Image(t, "mongod:test", root, add)
}

// addLibraries adds the libraries of a program to an image.
func addLibraries(t *testing.T, add map[string]string, program string) {
	t.Helper()
	out, err := exec.Command("ldd", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, library := range regexp.MustCompile(`/\S+`).FindAllString(string(out), -1) {
		file, err := filepath.EvalSymlinks(library)
		if err != nil {
			t.Fatal(err)
		}
		add[strings.TrimPrefix(library, "/")] = file
	}
}

// makeClasses makes the StorageClasses fast and slow. Each has volumes that are directories of this machine, which both
// nodes have.
func (k *inCluster) makeClasses(t *testing.T) {
	t.Helper()
	wait := storage.VolumeBindingWaitForFirstConsumer
	for _, name := range []string{"fast", "slow"} {
		class := &storage.StorageClass{ObjectMeta: meta.ObjectMeta{Name: name}, Provisioner: "kubernetes.io/no-provisioner",
			VolumeBindingMode: &wait}
		if _, err := k.Client.StorageV1().StorageClasses().Create(t.Context(), class, meta.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for i := range 8 {
			volume := fmt.Sprintf("%s-%d", name, i)
			dir := filepath.Join(k.dir, volume)
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, 0o777); err != nil { // pods have another user
				t.Fatal(err)
			}
			v := &core.PersistentVolume{ObjectMeta: meta.ObjectMeta{Name: volume}, Spec: core.PersistentVolumeSpec{
				Capacity:    core.ResourceList{core.ResourceStorage: resource.MustParse("8Gi")},
				AccessModes: []core.PersistentVolumeAccessMode{core.ReadWriteOnce}, StorageClassName: name,
				PersistentVolumeReclaimPolicy: core.PersistentVolumeReclaimRetain,
				PersistentVolumeSource:        core.PersistentVolumeSource{HostPath: &core.HostPathVolumeSource{Path: dir}}}}
			if _, err := k.Client.CoreV1().PersistentVolumes().Create(t.Context(), v, meta.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (k *inCluster) command(t *testing.T, args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Args[0] = "plimsoll"
	cmd.Env = append(os.Environ(), "PLIMSOLL_HOME="+k.home, "KUBECONFIG="+k.Kubeconfig)
	return cmd
}

// run runs a command, and returns its exit code and all that it printed. A command that hangs prints what it waits for.
func (k *inCluster) run(t *testing.T, args ...string) (int, string) {
	cmd := k.command(t, args...)
	hangs := time.AfterFunc(kubetest.Limit, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
	defer hangs.Stop()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// inPod says what runs a command in a pod.
var inPod = []string{"--agent-image", "plimsoll:test", "--agent-cpu", "500m", "--agent-memory", "128Mi"}

// probeAndExamine probes both StorageClasses, examines both nodes, and checks that nothing is left.
func (k *inCluster) probeAndExamine(t *testing.T) {
	out := filepath.Join(k.dir, "probes")
	args := append([]string{"disk", "--place", "kubernetes:n1", "--storage-class", "fast,slow", "--profile", "journal",
		"--clients", "1", "--segment", "1MiB", "--duration", "200ms", "--size", "4MiB", "--force", "--out", out}, inPod...)
	code, text := k.run(t, args...)
	if code == exitFailure || code == exitUsage {
		t.Errorf("disk ended with %d:\n%s", code, text)
	}
	for _, name := range []string{"n1_fast", "n1_slow"} {
		p, err := record.OpenProbe(filepath.Join(out, name))
		if err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		node, class, _ := strings.Cut(name, "_")
		if want := "StorageClass " + class + " on node " + node; p.Volume != want || p.Status != record.Complete || len(p.Steps) == 0 {
			t.Errorf("the probe %s is %s of %q with %d steps", name, p.Status, p.Volume, len(p.Steps))
		}
		for _, f := range p.Validity {
			if f.ID == "altered" || f.ID == "unsummed" {
				t.Errorf("%s: %s", name, f.Text)
			}
		}
	}
	page, err := os.ReadFile(filepath.Join(out, "report.html"))
	if err != nil || !strings.Contains(string(page), "n1_slow") || !strings.Contains(string(page), "commits/s") {
		t.Errorf("the page does not compare the probes: %v", err)
	}
	code, text = k.run(t, append([]string{"doctor", "--place", "kubernetes", "--storage-class", "fast", "--volume-size", "1MiB"}, inPod...)...)
	if code == exitFailure || code == exitUsage || !strings.Contains(text, "n2_fast") || !strings.Contains(text, "swappiness") {
		t.Errorf("doctor ended with %d:\n%s", code, text)
	}
	code, text = k.run(t, append([]string{"doctor", "--place", "kubernetes:n3", "--storage-class", "fast"}, inPod...)...)
	if code != exitUnreachable || !strings.Contains(text, "the cluster has no node n3") {
		t.Errorf("doctor on a node that does not exist ended with %d:\n%s", code, text)
	}
	k.nothingIsLeft(t, "plimsoll-task")
}

// killedProbe kills a probe whose pod cannot start, and cleans up.
func (k *inCluster) killedProbe(t *testing.T) {
	cmd := k.command(t, append([]string{"disk", "--place", "kubernetes:n1", "--storage-class", "fast", "--volume-size", "1TiB"}, inPod...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	k.Await(t, "claim of a probe", func(ctx context.Context) bool {
		list, err := k.Client.CoreV1().PersistentVolumeClaims("default").List(ctx, meta.ListOptions{LabelSelector: "app.kubernetes.io/name=plimsoll-task"})
		return err == nil && len(list.Items) > 0
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	code, text := k.run(t, "agent", "clean")
	if code != 0 || !strings.Contains(text, "removed the Job plimsoll-task-") {
		t.Errorf("agent clean ended with %d:\n%s", code, text)
	}
	k.nothingIsLeft(t, "plimsoll-task")
}

// study varies StorageClass and cores of a lab in Kubernetes that an agent in a pod loads, and checks that each lab had
// what its configuration says.
func (k *inCluster) study(t *testing.T) {
	file, out := filepath.Join(k.dir, "study.yaml"), filepath.Join(k.dir, "study")
	text := `name: pods
lab:
  hosts: {memory: 256MiB}
  kubernetes: {image: "mongod:test", spread: node}
  storage: {size: 256MiB}
  topology: {kind: standalone}
  engine: {args: [--logpath, /data/db/log]}
run:
  workload: {name: a, records: 50}
  load: {workers: 2, duration: 500ms, warmup: 0s}
factors:
  - {name: class, path: lab.kubernetes.storage_class, levels: [fast, slow]}
  - {name: cores, path: lab.hosts.cores, levels: [0.5, 0.25]}
combine: grid
trials: 1
canary: -1
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, output := k.run(t, append([]string{"study", "run", file, "--out", out, "--agents", "1", "--place", "kubernetes",
		"--agents-listen", kubetest.Machine + ":0"}, inPod...)...)
	s, err := record.OpenStudy(out)
	if err != nil || s.Status != record.Complete {
		t.Fatalf("the study ended with %d, %v:\n%s", code, err, output)
	}
	measured := map[string]bool{}
	for _, trial := range s.Trials {
		if trial.Status == record.TrialFailed || trial.Status == record.TrialLost { // the study repeated it
			t.Logf("trial %d (%s): %s", trial.Number, trial.Configuration, trial.Problem)
			continue
		}
		measured[trial.Configuration] = true
		r, err := record.OpenRun(filepath.Join(out, trial.Record))
		if err != nil || r.Lab == nil || len(r.Lab.Volumes) != 1 || len(r.Lab.Hosts) != 1 || len(r.Clients) != 1 {
			t.Errorf("trial %d (%s) has the lab %+v, %v", trial.Number, trial.Configuration, r.Lab, err)
			continue
		}
		class, cores := r.Lab.Specification.Kubernetes.StorageClass, r.Lab.Hosts[0].Cores
		id := fmt.Sprintf("class=%s,cores=%v", class, cores)
		if trial.Configuration == "baseline" {
			id, class, cores = "baseline", "fast", 0.5
		}
		if trial.Configuration != id || !strings.HasPrefix(r.Lab.Volumes[0].Policy, "StorageClass "+class+",") ||
			r.Lab.Hosts[0].Cores != cores || !slices.Contains(kubetest.Nodes, r.Lab.Hosts[0].Name) {
			t.Errorf("the configuration %s has the volume %+v and the host %+v", trial.Configuration, r.Lab.Volumes[0], r.Lab.Hosts[0])
		}
	}
	if len(measured) != 4 {
		t.Errorf("the configurations %v are measured, not all four", slices.Sorted(maps.Keys(measured)))
	}
	k.nothingIsLeft(t, "plimsoll-lab")
}

// replicaSet loads a replica set whose members are on different nodes. It needs a real mongod, because the stand-in
// cannot have the name of a pod.
func (k *inCluster) replicaSet(t *testing.T) {
	if os.Getenv(enginetest.RealMongoVar) == "" {
		notrun.Here(t, "a replica set in Kubernetes needs a real mongod in %s", enginetest.RealMongoVar)
		return
	}
	file := filepath.Join(k.dir, "set.yaml")
	text := `{name: set, kubernetes: {image: "mongod:test", storage_class: fast, spread: node}, storage: {size: 256MiB},
  topology: {members: 2}, engine: {cache: 256MiB}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, text := k.run(t, "lab", "up", file, "--format", "json")
	var l record.Lab
	if err := json.Unmarshal([]byte(text[strings.Index(text, "{"):]), &l); err != nil || code != 0 {
		t.Fatalf("lab up ended with %d, %v:\n%s", code, err, text)
	}
	k.isClosed(t, l)
	roles, nodes := map[string]bool{}, map[string]bool{}
	for _, m := range l.Members {
		roles[m.Role], nodes[m.Host] = true, true
	}
	if !roles["primary"] || !roles["secondary"] || len(nodes) != 2 {
		t.Errorf("the members are %+v", l.Members)
	}
	out := filepath.Join(k.dir, "run")
	code, text = k.run(t, "run", "lab:set", "--workload", "a", "--records", "50", "--duration", "1s", "--threads", "2", "--out", out)
	r, err := record.OpenRun(out)
	if err != nil || r.Target.Topology != "replica set" || r.Phase("measure") == nil || r.Phase("measure").Counts.Succeeded == 0 {
		t.Errorf("run ended with %d, %v:\n%s", code, err, text)
	}
	if code, text := k.run(t, "lab", "down", "set"); code != 0 {
		t.Errorf("lab down ended with %d:\n%s", code, text)
	}
	k.nothingIsLeft(t, "plimsoll-lab")
}

// isClosed checks that the members of a lab need its password, and that no file of this user has it.
func (k *inCluster) isClosed(t *testing.T, l record.Lab) {
	t.Helper()
	secret, err := k.Client.CoreV1().Secrets("default").Get(t.Context(), l.Name, meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{"the output": string(text)}
	err = filepath.WalkDir(k.home, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, err = os.ReadFile(path)
			texts[path] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range texts {
		for _, name := range []string{"password", "keyfile"} {
			if strings.Contains(text, strings.TrimSpace(string(secret.Data[name]))) {
				t.Errorf("%s has the %s of the lab", where, name)
			}
		}
	}
	p, err := k.Client.CoreV1().Pods("default").Get(t.Context(), l.Name+"-0", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + p.Status.PodIP + ":27017/?directConnection=true"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Disconnect(context.WithoutCancel(t.Context())) }()
	err = c.Database("test").RunCommand(t.Context(), bson.D{{Key: "insert", Value: "c"},
		{Key: "documents", Value: bson.A{bson.D{{Key: "a", Value: 1}}}}}).Err()
	const unauthorized = 13
	if of := (mongo.CommandError{}); !errors.As(err, &of) || of.Code != unauthorized {
		t.Errorf("a client without a password: %v", err)
	}
}

// killedLabs kills `lab up` and a study while the pod of their labs cannot start, which both say, and removes what they
// made.
func (k *inCluster) killedLabs(t *testing.T) {
	up, study := filepath.Join(k.dir, "lab.yaml"), filepath.Join(k.dir, "killed.yaml")
	for file, text := range map[string]string{
		up: `{name: pods, kubernetes: {image: "none:test", storage_class: slow}, storage: {size: 256MiB}}`,
		study: `{name: killed, lab: {kubernetes: {image: "none:test", storage_class: slow}, storage: {size: 256MiB}},
  run: {workload: {name: a, records: 50}, load: {duration: 1s}}, factors: [{path: load.workers, levels: [1, 2]}]}`,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, cmd := range map[string]*exec.Cmd{"pods": k.command(t, "lab", "up", up),
		"study-killed": k.command(t, "study", "run", study, "--out", filepath.Join(k.dir, "killed"))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k.killedLab(t, name, cmd)
		})
	}
}

// killedLab kills a command that waits for the pod of a lab.
func (k *inCluster) killedLab(t *testing.T, name string, cmd *exec.Cmd) {
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, seen := bufio.NewScanner(said), false
	for !seen && lines.Scan() {
		t.Log(lines.Text())
		seen = strings.Contains(lines.Text(), name+"-0 cannot pull the image none:test")
	}
	if err := errors.Join(lines.Err(), cmd.Process.Kill()); err != nil || !seen {
		t.Errorf("the command did not say why the pod does not start: %v", err)
	}
	_ = cmd.Wait() // it was killed
	if code, text := k.run(t, "lab", "list"); code != 0 || !strings.Contains(text, name) || !strings.Contains(text, "kubernetes") {
		t.Errorf("lab list ended with %d:\n%s", code, text)
	}
	if code, text := k.run(t, "lab", "down", name); code != 0 || !strings.Contains(text, name+" was removed") {
		t.Errorf("lab down ended with %d:\n%s", code, text)
	}
	k.nothingIsLeft(t, "plimsoll-lab", "app.kubernetes.io/instance="+name)
}

// nothingIsLeft waits until the cluster has removed everything with a name and other labels.
func (k *inCluster) nothingIsLeft(t *testing.T, name string, labels ...string) {
	t.Helper()
	all := meta.ListOptions{LabelSelector: strings.Join(append(labels, "app.kubernetes.io/name="+name), ",")}
	k.Await(t, "namespace without "+name, func(ctx context.Context) bool {
		jobs, err1 := k.Client.BatchV1().Jobs("default").List(ctx, all)
		sets, err2 := k.Client.AppsV1().StatefulSets("default").List(ctx, all)
		pods, err3 := k.Client.CoreV1().Pods("default").List(ctx, all)
		claims, err4 := k.Client.CoreV1().PersistentVolumeClaims("default").List(ctx, all)
		return err1 == nil && err2 == nil && err3 == nil && err4 == nil &&
			len(jobs.Items)+len(sets.Items)+len(pods.Items)+len(claims.Items) == 0
	})
}
