package kubernetes

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/plimsoll-bench/plimsoll/internal/kube"
	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/internal/replace"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/lab/journal"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

const (
	// labLabel is on all objects of a lab, with an ID that no other lab has.
	labLabel = "plimsoll-lab"
	// labFile has the lab as it is known, below its directory.
	labFile = "lab.json"
	// pollEvery is how often the state of pods is read while they start or end.
	pollEvery = 500 * time.Millisecond
	// removeWithin is how long the cluster may take to remove pods and volumes.
	removeWithin = 3 * time.Minute
)

var ()

// Labs are labs in a Kubernetes. Each has a directory below Dir with its journal, so that any later process removes it.
type Labs struct {
	Dir string
	// Tell shows what a lab waits for; nil shows nothing.
	Tell func(string)
}

// ErrNoLab says that no lab in a Kubernetes has the name.
var ErrNoLab = errors.New("there is no lab in Kubernetes of this name")

// Names are the names of all labs.
func (l Labs) Names() (names []string) {
	all, _ := os.ReadDir(l.Dir) // there is none yet
	for _, d := range all {
		names = append(names, d.Name())
	}
	return names
}

// Has says whether there is a lab of this name, in any state.
func (l Labs) Has(name string) bool {
	_, err := os.Stat(filepath.Join(l.Dir, name))
	return err == nil && spec.CheckLabName(name) == nil // a name such as .. is another directory
}

// Find returns what is known of a lab, also of an incomplete one; its error is [ErrNoLab] if there is none.
func (l Labs) Find(name string) (*record.Lab, error) {
	if !l.Has(name) {
		return nil, ErrNoLab
	}
	text, err := safeopen.ReadFile(filepath.Join(l.Dir, name), labFile, safeopen.MaxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return &record.Lab{Name: name, State: "failed"}, nil // it was killed at once, and is empty
	}
	if err != nil {
		return nil, err
	}
	lab := new(record.Lab)
	return lab, json.Unmarshal(text, lab)
}

// Check checks what the cluster must have for a lab. It makes nothing. It does not ask the cluster if ctx permits no
// connections.
func (l Labs) Check(ctx context.Context, asked spec.Lab) error {
	c, err := connect(kube.Login{Namespace: asked.Kubernetes.Namespace})
	if err != nil {
		return err
	}
	class := asked.Kubernetes.StorageClass
	if class == "" || !permit.Has(ctx, permit.Dial) {
		return nil
	}
	_, err = c.In(kube.Classes).Get(ctx, class, meta.GetOptions{})
	if apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("kubernetes.storage_class: %w", c.Explain(err, "read the StorageClass "+class))
	}
	return nil
}

// Up makes a lab of a complete specification, and returns when clients can use it. A lab that fails is removed.
func (l Labs) Up(ctx context.Context, asked spec.Lab) (made *record.Lab, err error) {
	dir := filepath.Join(l.Dir, asked.Name)
	if l.Has(asked.Name) {
		return nil, fmt.Errorf("the lab %s exists already. Remove it with: plimsoll lab down %[1]s", asked.Name)
	}
	c, err := connect(kube.Login{Namespace: asked.Kubernetes.Namespace})
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	in := *asked.Kubernetes
	in.Namespace = c.Namespace
	asked.Kubernetes = &in
	made = &record.Lab{SchemaVersion: record.SchemaVersion, Name: asked.Name, State: "starting", Started: time.Now().UTC(),
		Specification: asked, Engine: asked.Engine.Name}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Down(context.WithoutCancel(ctx), asked.Name))
		}
	}()
	id := strings.ToLower(rand.Text()[:12])
	if err := note(dir, c, id); err != nil {
		return nil, err
	}
	if err := save(dir, made); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, asked.Deadline.Std(),
		fmt.Errorf("the lab is not usable after %v (deadline)", asked.Deadline))
	defer cancel()
	for _, o := range objects(asked, c.Namespace, id, newAccess()) {
		if err := c.make(ctx, o); err != nil {
			return nil, err
		}
	}
	if err := l.awaitPods(ctx, c, asked, id); err != nil {
		return nil, err
	}
	s, err := openIn(ctx, c, asked.Name)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.form(ctx, asked); err != nil {
		return nil, err
	}
	if *made, err = s.describe(ctx, *made); err != nil {
		return nil, err
	}
	made.State, made.UsableAfter = "up", int64(time.Since(made.Started))
	return made, save(dir, made)
}

// note writes into the journal what is about to be made, and where.
func note(dir string, c *cluster, id string) error {
	j, err := journal.Open(dir)
	if err != nil {
		return err
	}
	file := c.Kubeconfig
	if rules := clientcmd.NewDefaultClientConfigLoadingRules(); file == "" && len(rules.Precedence) == 1 {
		file = rules.Precedence[0] // the process that removes the lab may have another one
		if _, err := os.Stat(file); err != nil {
			file = "" // in a pod
		}
	}
	_, err = j.Add("kubernetes", labLabel+"="+id, map[string]string{
		"kubeconfig": file, "context": c.Context, "namespace": c.Namespace})
	return errors.Join(err, j.Close())
}

func save(dir string, l *record.Lab) error {
	return replace.JSON(filepath.Join(dir, labFile), l, true)
}

func (c *cluster) make(ctx context.Context, o runtime.Object) error {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: m}
	r := map[string]schema.GroupVersionResource{"Service": kube.Services, "StatefulSet": kube.StatefulSets, "Secret": kube.Secrets,
		"NetworkPolicy": kube.NetworkPolicies}[u.GetKind()]
	if _, err = c.In(r).Create(ctx, u, meta.CreateOptions{}); err != nil {
		return c.Explain(err, "create the "+u.GetKind()+" "+u.GetName())
	}
	return nil
}

// awaitPods waits until all members accept connections.
func (l Labs) awaitPods(ctx context.Context, c *cluster, asked spec.Lab, id string) error {
	shown := kube.Teller{Tell: l.Tell}
	var why []string
	for {
		all, err := kube.List[core.Pod](ctx, c.Cluster, kube.Pods, labLabel+"="+id)
		if err == nil {
			ready := 0
			why = nil
			for _, p := range all {
				if isReady(&p) {
					ready++
					continue
				}
				if w := kube.Pending(&p, "See: kubectl describe pod -n "+c.Namespace+" "+p.Name); w != "" {
					why = append(why, p.Name+" "+w)
				}
				why = append(why, kube.Warnings(ctx, c.Client, c.Namespace, p.Name, claimOf(p.Name))...)
			}
			if ready == int(asked.Topology.Members) {
				return nil
			}
			if len(all) == 0 {
				why = kube.Warnings(ctx, c.Client, c.Namespace, asked.Name)
			}
		}
		shown.See(why)
		if cause := wait.Sleep(ctx, pollEvery); cause != nil {
			return fmt.Errorf("%w: %s", cause, cmp.Or(strings.Join(why, "; "), "the pods of the members are not ready"))
		}
	}
}

func isReady(p *core.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == core.PodReady {
			return c.Status == core.ConditionTrue
		}
	}
	return false
}

// Lab is a lab in use, with ways to its members. It must be closed.
type Lab struct {
	*Set
	known record.Lab
}

// Open opens the ways to the members of a lab.
func (l Labs) Open(ctx context.Context, name string) (*Lab, error) {
	known, err := l.Find(name)
	if err != nil {
		return nil, err
	}
	left, err := journal.Read(filepath.Join(l.Dir, name))
	if err != nil {
		return nil, err
	}
	if known.State != "up" || len(left) == 0 {
		return nil, fmt.Errorf("the lab %s is %s. Remove it with: plimsoll lab down %[1]s", name, known.State)
	}
	c, err := connectAs(left[0])
	if err != nil {
		return nil, err
	}
	s, err := openIn(ctx, c, name)
	return &Lab{s, *known}, err
}

// Describe returns its state.
func (l *Lab) Describe(ctx context.Context, _ bool) (record.Lab, error) {
	return l.describe(ctx, l.known)
}

// Usage is empty: a cluster does not tell it to every user.
func (l *Lab) Usage(context.Context) ([]record.LabUsage, error) { return nil, nil }

// EventsSince is empty: nobody supervises such a lab.
func (l *Lab) EventsSince(context.Context, int64) ([]record.LabEvent, error) { return nil, nil }

// connectAs connects to the cluster of what a journal has.
func connectAs(r journal.Resource) (*cluster, error) {
	return connect(kube.Login{Kubeconfig: r.Details["kubeconfig"], Context: r.Details["context"],
		Namespace: r.Details["namespace"]})
}

// Down removes a lab in any state: all objects in the namespace with its label. It is no error if there is none.
func (l Labs) Down(ctx context.Context, name string) error {
	if !l.Has(name) {
		return nil
	}
	dir := filepath.Join(l.Dir, name)
	left, err := journal.Read(dir)
	if err != nil {
		return err
	}
	for _, r := range left {
		c, err := connectAs(r)
		if err != nil {
			return err
		}
		if err := c.remove(ctx, r.Name); err != nil {
			return err
		}
	}
	return os.RemoveAll(dir)
}

// remove removes the objects with a label, and waits until pods and volumes are gone, so that a lab of the same name
// can follow.
func (c *cluster) remove(ctx context.Context, label string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, removeWithin,
		fmt.Errorf("the cluster has not removed everything with the label %s in the namespace %s after %v", label, c.Namespace,
			removeWithin))
	defer cancel()
	background := meta.DeletePropagationBackground
	for {
		left := 0
		for _, r := range []schema.GroupVersionResource{kube.StatefulSets, kube.Services, kube.NetworkPolicies, kube.Secrets,
			kube.Pods, kube.Claims} {
			l, err := c.In(r).List(ctx, meta.ListOptions{LabelSelector: label})
			if err != nil {
				return cmp.Or(context.Cause(ctx), c.Explain(err, "list "+r.Resource))
			}
			left += len(l.Items)
			for _, o := range l.Items {
				if r == kube.Pods || o.GetDeletionTimestamp() != nil {
					continue // the pods end with their StatefulSet
				}
				uid := o.GetUID()
				err := c.In(r).Delete(ctx, o.GetName(), meta.DeleteOptions{PropagationPolicy: &background,
					Preconditions: &meta.Preconditions{UID: &uid}})
				if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
					return c.Explain(err, "remove "+r.Resource+" "+o.GetName())
				}
			}
		}
		if left == 0 {
			return nil
		}
		if cause := wait.Sleep(ctx, pollEvery); cause != nil {
			return cause
		}
	}
}

// objects are what a lab consists of. The StatefulSet makes the pods and their claims.
func objects(asked spec.Lab, namespace, id string, login access) []runtime.Object {
	labels := map[string]string{"app.kubernetes.io/name": "plimsoll-lab", "app.kubernetes.io/instance": asked.Name,
		"app.kubernetes.io/managed-by": "plimsoll", labLabel: id}
	head := meta.ObjectMeta{Name: asked.Name, Namespace: namespace, Labels: labels}
	service := &core.Service{TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: head,
		Spec: core.ServiceSpec{ClusterIP: core.ClusterIPNone, Selector: labels,
			PublishNotReadyAddresses: true, // members find each other before they are a set
			Ports:                    []core.ServicePort{{Name: "mongodb", Port: mongoPort}}}}
	members, deleted := int32(asked.Topology.Members), apps.DeletePersistentVolumeClaimRetentionPolicyType
	set := &apps.StatefulSet{TypeMeta: meta.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}, ObjectMeta: head,
		Spec: apps.StatefulSetSpec{Replicas: &members, ServiceName: asked.Name,
			PodManagementPolicy: apps.ParallelPodManagement,
			Selector:            &meta.LabelSelector{MatchLabels: labels},
			PersistentVolumeClaimRetentionPolicy: &apps.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: deleted, WhenScaled: deleted},
			VolumeClaimTemplates: []core.PersistentVolumeClaim{claim(asked, labels)},
			Template:             core.PodTemplateSpec{ObjectMeta: meta.ObjectMeta{Labels: labels}, Spec: pod(asked, labels)}}}
	return []runtime.Object{login.secret(head), policy(head, asked.Name), service, set}
}
