package kubernetes

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// What a study varies reaches the objects of its lab: StorageClass, limits, requests and topology spread.
func TestObjects(t *testing.T) {
	text := `{name: db, kubernetes: {image: "mongo:8.0", storage_class: fast, spread: zone, requests: {memory: 1GiB}},
  hosts: {cores: 1.5, memory: 2GiB}, storage: {size: 3GiB}, topology: {members: 3}, engine: {cache: 512MiB}}`
	asked, err := spec.ReadLab(strings.NewReader(text))
	if err == nil {
		err = asked.Complete()
	}
	if err != nil {
		t.Fatal(err)
	}
	set := objects(asked, "here", "id", newAccess())[3].(*apps.StatefulSet)
	p, claim := set.Spec.Template.Spec, set.Spec.VolumeClaimTemplates[0].Spec
	spread, r := p.TopologySpreadConstraints[0], p.Containers[0].Resources
	got := map[string]string{
		"class": *claim.StorageClassName, "size": claim.Resources.Requests.Storage().String(),
		"spread": spread.TopologyKey, "unless": string(spread.WhenUnsatisfiable),
		"cores": r.Limits.Cpu().String(), "memory": r.Limits.Memory().String(),
		"requested cores": r.Requests.Cpu().String(), "requested memory": r.Requests.Memory().String(),
	}
	want := map[string]string{"class": "fast", "size": "3Gi", "spread": core.LabelTopologyZone, "unless": "DoNotSchedule",
		"cores": "1500m", "memory": "2Gi", "requested cores": "1500m", "requested memory": "1Gi"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if *set.Spec.Replicas != 3 || set.Labels[labLabel] != "id" || spread.LabelSelector.MatchLabels[labLabel] != "id" {
		t.Errorf("%+v", set)
	}
}

// Only the pods of the lab, agents and pods with a label of the lab reach its members, and only with its password. The
// members have a key of their own.
func TestAccess(t *testing.T) {
	asked := spec.Lab{Name: "db", Kubernetes: &spec.LabPods{Image: "mongo:8.0"}}
	if err := asked.Complete(); err != nil {
		t.Fatal(err)
	}
	login, other := newAccess(), newAccess()
	if login.key == other.key || login.password == other.password || len(login.key) < 50 || len(login.password) < 20 {
		t.Errorf("two labs have %+v and %+v", login, other)
	}
	all := objects(asked, "here", "id", login)
	secret, p := all[0].(*core.Secret), all[1].(*networking.NetworkPolicy).Spec
	set := all[3].(*apps.StatefulSet).Spec.Template
	if d := cmp.Diff(map[string]string{"keyfile": login.key + "\n", "username": "plimsoll", "password": login.password},
		secret.StringData); d != "" || secret.Labels[labLabel] != "id" {
		t.Errorf("the Secret %v: %s", secret.Labels, d)
	}
	selects := func(of *meta.LabelSelector, labels map[string]string) bool {
		s, err := meta.LabelSelectorAsSelector(of)
		return err == nil && s.Matches(kubelabels.Set(labels))
	}
	if !selects(&p.PodSelector, set.Labels) || len(p.Ingress) != 1 || len(p.PolicyTypes) != 1 ||
		p.Ingress[0].Ports[0].Port.IntValue() != mongoPort || len(p.Ingress[0].Ports) != 1 {
		t.Errorf("the policy %+v", p)
	}
	agent := map[string]string{"app.kubernetes.io/name": "plimsoll-agents", "app.kubernetes.io/managed-by": "plimsoll"}
	for _, c := range []struct {
		what          string
		labels        map[string]string
		inside, enter bool
	}{
		{"a member", set.Labels, true, true},
		{"a member of a lab of the same name elsewhere", set.Labels, false, false},
		{"a member of another lab", objects(asked, "here", "id2", login)[3].(*apps.StatefulSet).Spec.Template.Labels, true, false},
		{"an agent", agent, true, true},
		{"an agent of another namespace", agent, false, true},
		{"a pod that loads this lab", map[string]string{loadLabel: "db"}, true, true},
		{"a pod that loads another lab", map[string]string{loadLabel: "dc"}, true, false},
		{"another pod", map[string]string{"app": "web"}, true, false},
		{"a pod without labels", nil, true, false},
	} {
		enter := false
		for _, from := range p.Ingress[0].From {
			if from.IPBlock != nil || from.PodSelector == nil {
				t.Errorf("more than pods enter: %+v", from)
			}
			enter = enter || (c.inside || from.NamespaceSelector != nil) && selects(from.PodSelector, c.labels)
		}
		if enter != c.enter {
			t.Errorf("%s enters: %v", c.what, enter)
		}
	}
	text, err := json.Marshal(set)
	if err != nil || strings.Contains(string(text), login.key) || strings.Contains(string(text), login.password) ||
		!slices.Contains(set.Spec.Containers[0].Command, "--keyFile") {
		t.Errorf("the pods: %s, %v", text, err)
	}
	for uri, want := range map[string]string{"mongodb://a:1,b:1/?replicaSet=rs0": "mongodb://plimsoll:P@a:1,b:1/?replicaSet=rs0&authSource=admin",
		"mongodb://a:1/": "mongodb://plimsoll:P@a:1/?authSource=admin"} {
		if got := strings.ReplaceAll(login.clients(uri), login.password, "P"); got != want || (access{}).clients(uri) != uri {
			t.Errorf("%s: %s", uri, got)
		}
	}
}
