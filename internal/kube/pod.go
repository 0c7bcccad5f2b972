package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
)

// Pending says why a pod has not started, and what to do: next, if no node takes it. It is empty for a pod that has
// started or is about to.
func Pending(p *core.Pod, next string) string {
	for _, c := range p.Status.Conditions {
		if c.Type == core.PodScheduled && c.Status == core.ConditionFalse && c.Reason == core.PodReasonUnschedulable {
			return fmt.Sprintf("cannot be scheduled: %s. %s", OneLine(c.Message), next)
		}
	}
	for _, s := range p.Status.ContainerStatuses {
		w := s.State.Waiting
		switch {
		case w == nil || w.Reason == "ContainerCreating" || w.Reason == "PodInitializing":
		case slices.Contains([]string{"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"}, w.Reason):
			return fmt.Sprintf("cannot pull the image %s (%s). Push it to a registry that the nodes reach, or give another image",
				s.Image, w.Reason)
		default:
			why := OneLine(w.Message)
			if t := s.LastTerminationState.Terminated; t != nil && t.Message != "" {
				why = OneLine(t.Message)
			}
			return fmt.Sprintf("cannot start: %s: %s. See: kubectl describe pod %s", w.Reason, why, p.Name)
		}
	}
	return ""
}

// Warnings are the warnings of the cluster about objects of some names, such as a pod and its claim, without what the
// state of a pod says too. They are empty if the user may not read events.
func Warnings(ctx context.Context, c dynamic.Interface, namespace string, names ...string) (all []string) {
	for _, name := range names {
		list, err := c.Resource(Events).Namespace(namespace).List(ctx,
			meta.ListOptions{FieldSelector: "type=Warning,involvedObject.name=" + name})
		if err != nil {
			continue
		}
		for _, e := range list.Items {
			reason, _ := e.Object["reason"].(string)
			message, _ := e.Object["message"].(string)
			if !slices.Contains([]string{"FailedScheduling", "Failed", "BackOff"}, reason) {
				all = append(all, fmt.Sprintf("%s: %s: %s", name, reason, OneLine(message)))
			}
		}
	}
	return all
}

// Teller shows why pods have not started, each reason once. A reason is shown if it is there twice in a row, because
// the first moments of each pod have reasons too.
type Teller struct {
	Tell func(string) // nil shows nothing
	told map[string]bool
	last []string
}

// See takes the reasons of now.
func (t *Teller) See(reasons []string) {
	for _, r := range reasons {
		if t.Tell == nil || t.told[r] || !slices.Contains(t.last, r) {
			continue
		}
		if t.told == nil {
			t.told = map[string]bool{}
		}
		t.told[r] = true
		t.Tell(r)
	}
	t.last = reasons
}

// OneLine makes a message part of a sentence.
func OneLine(text string) string {
	return strings.TrimSuffix(strings.Join(strings.Fields(text), " "), ".")
}
