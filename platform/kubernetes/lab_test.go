package kubernetes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"

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
	set := objects(asked, "here", "id")[1].(*apps.StatefulSet)
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
