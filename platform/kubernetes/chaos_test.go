package kubernetes

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-bench/plimsoll/internal/kube"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The objects of Chaos Mesh have the fields of its documentation ("Simulate Pod Faults", "… Network Faults",
// "… File I/O Faults", "… Time Faults").
func TestChaosSpecifications(t *testing.T) {
	pod := func(name string) core.Pod {
		return core.Pod{ObjectMeta: meta.ObjectMeta{Name: name}, Spec: core.PodSpec{
			Containers: []core.Container{{Name: "exporter"}, {Name: "mongod", Ports: []core.ContainerPort{{ContainerPort: 27017}},
				VolumeMounts: []core.VolumeMount{{Name: "tmp", MountPath: "/tmp"}, {Name: "data", MountPath: "/data/db"}}}},
			Volumes: []core.Volume{{Name: "tmp"}, {Name: "data", VolumeSource: core.VolumeSource{
				PersistentVolumeClaim: &core.PersistentVolumeClaimVolumeSource{ClaimName: "data-" + name}}}},
		}}
	}
	s := &Set{cluster: &cluster{&kube.Cluster{Login: kube.Login{Namespace: "db"}}},
		pods: []core.Pod{pod("m-0"), pod("m-1"), pod("m-2")}}
	pods := func(names ...any) map[string]any { return map[string]any{"pods": map[string]any{"db": names}} }
	files := func(action string, more map[string]any) map[string]any {
		of := map[string]any{"action": action, "volumePath": "/data/db", "path": "/data/db/**/*", "containerNames": []any{"mongod"}}
		for name, value := range more {
			of[name] = value
		}
		return of
	}
	for name, c := range map[string]struct {
		change func(*spec.Fault)
		kind   string
		want   map[string]any
	}{
		"container-kill": {nil, "PodChaos", map[string]any{"action": "container-kill", "containerNames": []any{"mongod"}}},
		"pod-partition": {nil, "NetworkChaos", map[string]any{"action": "partition", "direction": "both",
			"target": map[string]any{"mode": "all", "selector": pods("m-0", "m-2")}}},
		"pod-delay": {nil, "NetworkChaos", map[string]any{"action": "delay", "delay": map[string]any{"latency": "20ms"}}},
		"pod-loss": {func(f *spec.Fault) { f.Probability = 0.25 }, "NetworkChaos",
			map[string]any{"action": "loss", "loss": map[string]any{"loss": "25"}}},
		"pod-io-delay": {nil, "IOChaos", files("latency", map[string]any{"delay": "20ms", "percent": int64(100)})},
		"pod-io-error": {func(f *spec.Fault) { f.Errno, f.Probability = "ENOSPC", 0.5 }, "IOChaos",
			files("fault", map[string]any{"errno": int64(28), "percent": int64(50)})},
		"pod-clock": {nil, "TimeChaos", map[string]any{"timeOffset": "20ms", "containerNames": []any{"mongod"}}},
	} {
		f := spec.Fault{Action: spec.ParseAction(name + ":m-1"), Delay: spec.Duration(20 * time.Millisecond)}
		if c.change != nil {
			c.change(&f)
		}
		c.want["mode"], c.want["selector"] = "all", pods("m-1")
		kind, got, err := s.chaosSpec(f, &s.pods[1])
		if diff := cmp.Diff(c.want, got); err != nil || kind != c.kind || diff != "" {
			t.Errorf("%s is a %s, %v\n%s", name, kind, err, diff)
		}
	}
	bare := core.Pod{ObjectMeta: meta.ObjectMeta{Name: "m-0"}, Spec: core.PodSpec{Containers: []core.Container{{Name: "mongod"}}}}
	s.pods = []core.Pod{bare}
	for name, want := range map[string]string{"pod-partition": "the only member", "pod-io-error": "no volume of a claim"} {
		_, _, err := s.chaosSpec(spec.Fault{Action: spec.ParseAction(name + ":m-0")}, &bare)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
