package kubernetes

import (
	"context"
	"fmt"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/plimsoll-bench/plimsoll/internal/kube"
)

// followEvery is the period in which pods that have not started are listed.
const followEvery = time.Second

// follow tells why pods do not start, each reason once, until ctx ends. An agent that has ended is an error.
func (c *Cluster) follow(ctx context.Context, made []string, tell func(string)) error {
	told := map[string]bool{}
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		for _, name := range made {
			why, err := c.problems(ctx, name)
			if err != nil {
				return err
			}
			for _, w := range why {
				if !told[w] {
					told[w] = true
					tell(w)
				}
			}
		}
	}
}

// problems are the reasons why agents of a Job have not started. Pods with the same reason have one sentence.
func (c *Cluster) problems(ctx context.Context, job string) ([]string, error) {
	list, err := c.In(kube.Pods).List(ctx,
		meta.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + job})
	if err != nil {
		return nil, nil // a connection that is lost for a moment says nothing about pods
	}
	var why []string
	count := map[string]int{}
	for _, item := range list.Items {
		var p core.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &p); err != nil {
			return nil, err
		}
		if err := failed(&p); err != nil {
			return nil, err
		}
		if w := kube.Pending(&p, "Place fewer agents, lower their limits, or add nodes"); w != "" {
			if count[w]++; count[w] == 1 {
				why = append(why, w)
			}
		}
	}
	if len(list.Items) == 0 {
		if w := c.refused(ctx, job); w != "" {
			return []string{w}, nil
		}
	}
	for i, w := range why {
		why[i] = fmt.Sprintf("%d of the agents' pods %s", count[w], w)
	}
	return why, nil
}

// failed returns an error if the agent of a pod has ended by itself. Kubernetes replaces those that were evicted.
func failed(p *core.Pod) error {
	for _, c := range p.Status.Conditions {
		if c.Type == core.DisruptionTarget && c.Status == core.ConditionTrue {
			return nil
		}
	}
	for _, s := range p.Status.ContainerStatuses {
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 && p.DeletionTimestamp == nil {
			return fmt.Errorf("the agent in pod %s ended with exit code %d (%s): %s. See: kubectl logs %[1]s", p.Name, t.ExitCode,
				t.Reason, kube.OneLine(t.Message))
		}
	}
	return nil
}

// refused says why a Job has no pods, for example because of a quota: only its events do.
func (c *Cluster) refused(ctx context.Context, job string) string {
	list, err := c.In(kube.Events).List(ctx,
		meta.ListOptions{FieldSelector: "involvedObject.kind=Job,reason=FailedCreate,involvedObject.name=" + job})
	if err != nil || len(list.Items) == 0 {
		return ""
	}
	message, _ := list.Items[0].Object["message"].(string)
	return fmt.Sprintf("the cluster does not allow the pods of the agents: %s. Raise the quota or use another namespace",
		kube.OneLine(message))
}
