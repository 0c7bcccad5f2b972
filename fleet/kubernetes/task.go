package kubernetes

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-bench/plimsoll/internal/kube"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
)

const (
	// TaskDir is the directory of a task's volume, and TaskScratch one for other files.
	TaskDir, TaskScratch = "/data", "/tmp"
	// taskVolume is the name of that volume in the pod.
	taskVolume = "data"
	// startWithin is how long a pod may take to start. Volumes of a cloud take one or two minutes.
	startWithin = 5 * time.Minute
	// maxLog bounds the log of a pod. Nodes keep 10 MiB of each.
	maxLog = 32 << 20
	// user is that of the image.
	user = 65532
)

// Task is a command of plimsoll that a pod runs on one node, with a new volume in [TaskDir].
type Task struct {
	Node  string
	Class string // the StorageClass of the volume
	Size  int64  // of the volume, in bytes
	Args  []string
}

func (t Task) String() string { return fmt.Sprintf("StorageClass %s on node %s", t.Class, t.Node) }

// Output is what the pod of a task left.
type Output struct {
	Log  string
	Exit int
}

// Perform runs a task as a Job and removes the Job, its pod and its volume. tell says why the pod has not started, each
// reason once. If this process is killed, [Cluster.Clean] removes the rest, or the cluster some minutes after the end
// of the task.
func (c *Cluster) Perform(ctx context.Context, s Settings, t Task, tell func(string)) (out Output, err error) {
	job, err := t.job(s)
	if err != nil {
		return out, err
	}
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, c.removeTask(job.Name)) }()
	_, err = c.In(kube.Jobs).Create(ctx, &unstructured.Unstructured{Object: o},
		meta.CreateOptions{})
	if err != nil {
		return out, c.Explain(err, "create a Job")
	}
	shown := kube.Teller{Tell: tell}
	for begun := time.Now(); ; {
		if wait.Sleep(ctx, followEvery) != nil {
			return out, context.Cause(ctx)
		}
		p, reasons, err := c.look(ctx, job.Name)
		if err != nil {
			return out, err
		}
		shown.See(reasons)
		if end := ended(p); end != nil {
			log, err := c.log(ctx, p.Name)
			return Output{log, int(end.ExitCode)}, err
		}
		if (p == nil || p.Status.Phase == core.PodPending) && time.Since(begun) > startWithin {
			return out, fmt.Errorf("the pod has not started after %v: %s", startWithin,
				cmp.Or(strings.Join(reasons, "; "), "the cluster gives no reason. See: kubectl get events"))
		}
	}
}

// job is the Job of a task. The claim of its volume belongs to the pod, so the cluster removes it with the Job.
func (t Task) job(s Settings) (*batch.Job, error) {
	if !validCount().MatchString(s.CPU) || !validCount().MatchString(s.Memory) || s.Image == "" {
		return nil, fmt.Errorf("a pod of the image %q with %q cores and %q of memory is not valid: use quantities of Kubernetes "+
			"such as 500m and 512Mi", s.Image, s.CPU, s.Memory)
	}
	name := "plimsoll-task-" + strings.ToLower(rand.Text()[:8])
	labels := map[string]string{"app.kubernetes.io/name": "plimsoll-task", "app.kubernetes.io/instance": name,
		"app.kubernetes.io/managed-by": "plimsoll"}
	most := core.ResourceList{
		core.ResourceCPU: resource.MustParse(s.CPU), core.ResourceMemory: resource.MustParse(s.Memory)}
	here := core.NodeSelectorRequirement{
		Key: meta.ObjectNameField, Operator: core.NodeSelectorOpIn, Values: []string{t.Node}}
	yes, no, none, id, ttl := true, false, int32(0), int64(user), int32(600)
	pod := core.PodSpec{
		RestartPolicy: core.RestartPolicyNever, AutomountServiceAccountToken: &no, EnableServiceLinks: &no,
		SecurityContext: &core.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &id, RunAsGroup: &id, FSGroup: &id,
			SeccompProfile: &core.SeccompProfile{Type: core.SeccompProfileTypeRuntimeDefault}},
		Affinity: &core.Affinity{NodeAffinity: &core.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &core.NodeSelector{NodeSelectorTerms: []core.NodeSelectorTerm{
				{MatchFields: []core.NodeSelectorRequirement{here}}}}}},
		Tolerations: []core.Toleration{{Operator: core.TolerationOpExists, Effect: core.TaintEffectNoSchedule}},
		Containers: []core.Container{{
			Name: "task", Image: s.Image, ImagePullPolicy: core.PullIfNotPresent, Args: t.Args,
			Resources: core.ResourceRequirements{Requests: most, Limits: most},
			SecurityContext: &core.SecurityContext{AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
				Capabilities: &core.Capabilities{Drop: []core.Capability{"ALL"}}},
			VolumeMounts: []core.VolumeMount{{Name: taskVolume, MountPath: TaskDir}, {Name: "scratch", MountPath: TaskScratch}},
		}},
		Volumes: []core.Volume{
			{Name: taskVolume, VolumeSource: core.VolumeSource{Ephemeral: &core.EphemeralVolumeSource{
				VolumeClaimTemplate: &core.PersistentVolumeClaimTemplate{ObjectMeta: meta.ObjectMeta{Labels: labels},
					Spec: core.PersistentVolumeClaimSpec{AccessModes: []core.PersistentVolumeAccessMode{core.ReadWriteOnce},
						StorageClassName: &t.Class, Resources: core.VolumeResourceRequirements{Requests: core.ResourceList{
							core.ResourceStorage: *resource.NewQuantity(t.Size, resource.BinarySI)}}}}}}},
			{Name: "scratch", VolumeSource: core.VolumeSource{EmptyDir: &core.EmptyDirVolumeSource{}}},
		},
	}
	own := maps.Clone(labels)
	own[placed] = "run"
	return &batch.Job{TypeMeta: meta.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: meta.ObjectMeta{Name: name, Labels: own},
		Spec: batch.JobSpec{BackoffLimit: &none, TTLSecondsAfterFinished: &ttl,
			Template: core.PodTemplateSpec{ObjectMeta: meta.ObjectMeta{Labels: labels}, Spec: pod}}}, nil
}

// look returns the pod of a task, nil if there is none yet, and why it has not started. A pod that will not end by
// itself is an error.
func (c *Cluster) look(ctx context.Context, job string) (*core.Pod, []string, error) {
	list, err := c.In(kube.Pods).List(ctx,
		meta.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + job})
	if err != nil {
		return nil, nil, nil // a connection that is lost for a moment says nothing about pods
	}
	if len(list.Items) == 0 {
		if w := c.refused(ctx, job); w != "" {
			return nil, []string{w}, nil
		}
		return nil, nil, nil
	}
	p := new(core.Pod)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[0].Object, p); err != nil {
		return nil, nil, err
	}
	switch {
	case ended(p) != nil:
	case p.DeletionTimestamp != nil:
		return nil, nil, fmt.Errorf("the pod %s was deleted, or its node %s was lost", p.Name, p.Spec.NodeName)
	case p.Status.Phase == core.PodFailed:
		return nil, nil, fmt.Errorf("the pod %s failed: %s: %s", p.Name, p.Status.Reason, kube.OneLine(p.Status.Message))
	case p.Status.Phase == core.PodPending:
		why := kube.Warnings(ctx, c.Client, c.Namespace, p.Name, p.Name+"-"+taskVolume)
		if w := kube.Pending(p, "See: kubectl describe pod "+p.Name); w != "" {
			why = append(why, "the pod "+w)
		}
		return p, why, nil
	}
	return p, nil, nil
}

// ended is the end of a pod's container, nil if it has not ended.
func ended(p *core.Pod) *core.ContainerStateTerminated {
	if p == nil || len(p.Status.ContainerStatuses) == 0 {
		return nil
	}
	return p.Status.ContainerStatuses[0].State.Terminated
}

// log reads what a pod wrote.
func (c *Cluster) log(ctx context.Context, pod string) (string, error) {
	client, err := rest.HTTPClientFor(c.Config)
	if err != nil {
		return "", err
	}
	u, _, err := rest.DefaultServerUrlFor(c.Config)
	if err != nil {
		return "", err
	}
	u = u.JoinPath("api/v1/namespaces", c.Namespace, "pods", pod, "log")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", err
	}
	answer, err := client.Do(request)
	if err != nil {
		return "", c.Explain(err, "read the log of the pod "+pod)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxLog))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("the API server answered %s", answer.Status)
	}
	return string(text), c.Explain(err, "read the log of the pod "+pod)
}

// removeTask removes a Job and waits until its pod and its claim are gone, so that they do not disturb the next one.
func (c *Cluster) removeTask(job string) error {
	ctx, cancel := context.WithTimeout(context.Background(), removeWithin)
	defer cancel()
	if err := c.remove(ctx, job); err != nil {
		return err
	}
	for _, r := range []schema.GroupVersionResource{kube.Pods, kube.Claims} {
		for {
			list, err := c.In(r).List(ctx,
				meta.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + job})
			if apierrors.IsForbidden(err) || err == nil && len(list.Items) == 0 {
				break
			}
			if wait.Sleep(ctx, followEvery/4) != nil {
				return fmt.Errorf("the cluster has not removed the %s of the Job %s after %v. See: kubectl get pods,pvc -n %s -l "+
					"app.kubernetes.io/instance=%[2]s", r.Resource, job, removeWithin, c.Namespace)
			}
		}
	}
	return nil
}

// removeWithin is how long the cluster may take to remove a pod and its volume.
const removeWithin = 2 * time.Minute

// Nodes returns the nodes of the given names. Without names, it returns all nodes that take pods, and says in left why
// others are not among them.
func (c *Cluster) Nodes(ctx context.Context, names []string) (found, left []string, err error) {
	list, err := c.In(kube.Nodes).List(ctx, meta.ListOptions{})
	if err != nil {
		return nil, nil, c.Explain(err, "list the nodes")
	}
	var all []string
	for _, o := range list.Items {
		var n core.Node
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &n); err != nil {
			return nil, nil, err
		}
		all = append(all, n.Name)
		i := slices.IndexFunc(n.Spec.Taints, func(t core.Taint) bool { return t.Effect != core.TaintEffectPreferNoSchedule })
		if i < 0 {
			found = append(found, n.Name)
		} else {
			left = append(left, fmt.Sprintf("the node %s has the taint %s", n.Name, n.Spec.Taints[i].Key))
		}
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, nil, fmt.Errorf("the cluster has no node %s. Its nodes are %s", name, strings.Join(all, ", "))
		}
	}
	if len(names) > 0 {
		return names, nil, nil
	}
	if len(found) == 0 {
		return nil, nil, fmt.Errorf("no node takes pods: %s. Name nodes, as in kubernetes:NODE,NODE", strings.Join(left, "; "))
	}
	return found, left, nil
}

// Classes returns the StorageClasses of the given names; without names, that which the cluster gives by default.
func (c *Cluster) Classes(ctx context.Context, names []string) ([]string, error) {
	list, err := c.In(kube.Classes).List(ctx, meta.ListOptions{})
	if err != nil {
		return nil, c.Explain(err, "list the StorageClasses")
	}
	var all, found []string
	for _, o := range list.Items {
		all = append(all, o.GetName())
		if o.GetAnnotations()["storageclass.kubernetes.io/is-default-class"] == "true" {
			found = append(found, o.GetName())
		}
	}
	known := cmp.Or(strings.Join(all, ", "), "none")
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("the cluster has no StorageClass %s (known: %s)", name, known)
		}
	}
	if len(names) > 0 {
		return names, nil
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("the cluster has no default StorageClass (known: %s). Name some with --storage-class", known)
	}
	return found[:1], nil
}
