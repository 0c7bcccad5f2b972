package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/internal/kube"
	"github.com/plimsoll-bench/plimsoll/internal/redact"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Kind is the kind of this platform in journals.
const Kind = "kubernetes"

// stepWithin bounds each step, evictions that wait for a disruption budget included.
const stepWithin = time.Minute

func (s *Set) Actions() []*fault.Action { return platform.ActionsOf(fault.Kubernetes) }

// The node of a member.
func (s *Set) Machine(m spec.PlatformMember) string { return s.watch.pod(m.Name).node }

func (s *Set) Kind() string { return Kind }

// No credential of the cluster is in a text.
func (s *Set) Learn(*redact.Known) {}

// undo is what the journal has of a fault.
type undo struct {
	kube.Login
	Node    string `json:"node,omitempty"` // to be uncordoned, or to lose its taint
	Tainted bool   `json:"tainted,omitempty"`
	Chaos   string `json:"chaos,omitempty"` // the kind of an object of Chaos Mesh that is removed
	Name    string `json:"name,omitempty"`
}

// Healer heals faults of journals.
type Healer struct{}

func (Healer) Heal(text json.RawMessage, _ func(string) string) (platform.Step, error) {
	var u undo
	if err := json.Unmarshal(text, &u); err != nil {
		return platform.Step{}, fmt.Errorf("the heal request cannot be read: %w", err)
	}
	c := &cluster{&kube.Cluster{Login: u.Login}}
	do := func(ctx context.Context) (string, error) {
		c, err := connect(u.Login)
		if err != nil {
			return "", err
		}
		return "", u.do(ctx, c)
	}
	const name = "the heal request"
	switch {
	case u.Chaos != "":
		return c.request(name, do, "delete", strings.ToLower(u.Chaos), u.Name, "-n", u.Namespace, "--ignore-not-found"), nil
	case u.Node == "":
		return platform.Step{}, errors.New("the heal request is of another version of plimsoll. Use the plimsoll that injected the fault")
	case u.Tainted:
		return c.request(name, do, "taint", "node", u.Node, outOfService.Key+"-"), nil
	}
	return c.request(name, do, "uncordon", u.Node), nil
}

func (u undo) do(ctx context.Context, c *cluster) error {
	switch {
	case u.Chaos != "":
		return c.endChaos(ctx, u.Chaos, u.Name)
	case u.Tainted:
		return c.taint(ctx, u.Node, false)
	}
	return c.cordon(ctx, u.Node, false)
}

func (s *Set) Heal(text json.RawMessage, hide func(string) string) (platform.Step, error) {
	return Healer{}.Heal(text, hide)
}

func (s *Set) Steps(ctx context.Context, f spec.Fault, m *spec.PlatformMember) (platform.Steps, error) {
	a := fault.Find(f.Action.Name)
	p, err := kube.Get[core.Pod](ctx, s.cluster.Cluster, kube.Pods, m.Name)
	if err != nil {
		return platform.Steps{}, err
	}
	steps := platform.Steps{Mode: a.Mode, Returns: !a.Lasts, Timeout: stepWithin}
	switch a.Name {
	case fault.PodDelete, fault.PodKill:
		s.deletion(&steps, a.Name == fault.PodKill, p)
	case fault.NodeDrain:
		err = s.drain(ctx, &steps, p.Spec.NodeName)
	case fault.NodeOutOfService:
		s.leave(&steps, p)
	case fault.VolumeDetach:
		err = s.detach(ctx, &steps, p)
	default:
		err = s.chaos(ctx, &steps, f, p)
	}
	if a.On == fault.Host {
		steps.Target = p.Spec.NodeName // with all members on it
	}
	return steps, err
}

// The names of steps.
const (
	injectName  = "the inject request"
	witnessName = "the API server"
)

// deletion deletes a pod. The kubelet says when its containers have ended.
func (s *Set) deletion(steps *platform.Steps, kill bool, p *core.Pod) {
	c, in := s.cluster, []string{"-n", s.cluster.Namespace}
	words := append([]string{"delete", "pod", p.Name, "--wait=false"}, in...)
	var grace *int64
	if kill {
		grace = new(int64)
		words = append(words, "--grace-period=0", "--force")
	}
	steps.Inject = c.request(injectName, func(ctx context.Context) (string, error) {
		return c.deletePod(ctx, p.Name, string(p.UID), grace)
	}, words...)
	steps.Witness = s.endOf(p.Name, p.UID)
}

// endOf is the witness of the end of a pod's containers.
func (s *Set) endOf(name string, uid types.UID) platform.Step {
	c := s.cluster
	return c.request(witnessName, func(ctx context.Context) (string, error) { return c.ended(ctx, name, uid) },
		"get", "pod", name, "-n", c.Namespace, "-o", "yaml")
}

// drain evicts the members on a node. Other pods on it stay.
func (s *Set) drain(ctx context.Context, steps *platform.Steps, node string) error {
	c := s.cluster
	n, err := kube.Get[core.Node](ctx, c.Cluster, kube.Nodes, node)
	if err != nil {
		return err
	}
	if n.Spec.Unschedulable {
		return fmt.Errorf("node %s is cordoned already. Uncordon it first with: kubectl uncordon %[1]s", node)
	}
	var names []string
	uids := map[string]types.UID{}
	for _, m := range s.pods {
		if k := s.watch.pod(m.Name); k.node == node {
			names = append(names, m.Name)
			uids[m.Name] = types.UID(k.uid)
		}
	}
	steps.Inject = c.request(injectName, func(ctx context.Context) (string, error) {
		err := c.cordon(ctx, node, true)
		for i := 0; err == nil && i < len(names); i++ {
			err = c.evict(ctx, names[i], string(uids[names[i]]))
		}
		return "evicted: " + strings.Join(names, ", "), err
	}, "drain", node, "--pod-selector="+shellWord(s.selector))
	steps.Witness = c.request(witnessName, func(ctx context.Context) (string, error) {
		var texts []string
		for _, name := range names {
			text, err := c.ended(ctx, name, uids[name])
			if err != nil {
				return "", err
			}
			texts = append(texts, text)
		}
		return strings.Join(texts, "; "), nil
	}, "get", "pods", "-n", c.Namespace, "-l", shellWord(s.selector))
	steps.Undo = undo{Login: c.Login, Node: node}
	return nil
}

// shellWord quotes a word for a shell.
func shellWord(w string) string { return "'" + w + "'" }

// leave sets the taint of a node that is out of service. The witness is the deletion of the pod, which nobody else asks
// for: the controllers do it because of the taint.
func (s *Set) leave(steps *platform.Steps, p *core.Pod) {
	c, node := s.cluster, p.Spec.NodeName
	steps.Inject = c.request(injectName, func(ctx context.Context) (string, error) { return "", c.taint(ctx, node, true) },
		"taint", "node", node, outOfService.ToString())
	steps.Witness = c.request(witnessName, func(ctx context.Context) (string, error) {
		text, err := c.gone(ctx, kube.Pods, p.Name, p.UID)
		if err == nil || p.DeletionTimestamp != nil {
			return text, err
		}
		now, getErr := kube.Get[core.Pod](ctx, c.Cluster, kube.Pods, p.Name)
		if getErr == nil && now.DeletionTimestamp != nil {
			return p.Name + " is being deleted", nil
		}
		return "", cmp.Or(getErr, err)
	}, "get", "pod", p.Name, "-n", c.Namespace, "-o", "yaml")
	steps.Undo = undo{Login: c.Login, Node: node, Tainted: true}
}

// detach deletes the attachments of a pod's volumes. Kubernetes attaches them again when it notices.
func (s *Set) detach(ctx context.Context, steps *platform.Steps, p *core.Pod) error {
	c := s.cluster
	found, err := c.attached(ctx, p)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("no volume of %s is attached to %s by an attachment (volumes of this kind need none). "+
			"See: kubectl get volumeattachments", p.Name, p.Spec.NodeName)
	}
	var names []string
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	steps.Inject = c.request(injectName, func(ctx context.Context) (string, error) {
		for _, name := range names {
			if err := c.deleteAttachment(ctx, name, found[name]); err != nil {
				return "", err
			}
		}
		return "", nil
	}, append([]string{"delete", "volumeattachment", "--wait=false"}, names...)...)
	steps.Witness = c.request(witnessName, func(ctx context.Context) (string, error) {
		for _, name := range names {
			if _, err := c.gone(ctx, kube.Attachments, name, found[name]); err != nil {
				return "", err
			}
		}
		return "deleted: " + strings.Join(names, ", "), nil
	}, append([]string{"get", "volumeattachments"}, names...)...)
	steps.Mode = fault.Storage
	return nil
}
