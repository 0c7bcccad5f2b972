package kubernetes_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-bench/plimsoll/internal/dial"
	"github.com/plimsoll-bench/plimsoll/internal/kubetest"
	"github.com/plimsoll-bench/plimsoll/lab/engine/enginetest"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/platform/kubernetes"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// bed is a StatefulSet of one server in a real Kubernetes. Its volume is a directory that both nodes have.
type bed struct {
	*kubetest.Cluster
	set      *kubernetes.Set
	platform *platform.Deployment
	journals string
	client   *mongo.Client
	written  int
}

func newBed(t *testing.T) (*bed, bool) {
	t.Setenv("CGO_ENABLED", "0") // the server's image has no libraries
	program := filepath.Dir(enginetest.StandinMongo(t, "8.0.12"))
	data := t.TempDir()
	c, ok := kubetest.Start(t)
	if !ok {
		return nil, false
	}
	b := &bed{Cluster: c, journals: filepath.Join(t.TempDir(), "journals")}
	for _, make := range []func(context.Context) error{
		func(ctx context.Context) error {
			_, err := c.Client.CoreV1().PersistentVolumes().Create(ctx, volume(data), meta.CreateOptions{})
			return err
		},
		func(ctx context.Context) error {
			_, err := c.Client.AppsV1().StatefulSets("default").Create(ctx, statefulSet(program), meta.CreateOptions{})
			return err
		},
	} {
		if err := make(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c.Await(t, "member that is ready", func(ctx context.Context) bool { return b.ready(ctx) })
	var err error
	o := kubernetes.Options{Target: "k8s:default/mongo", Kubeconfig: c.Kubeconfig}
	if b.set, err = kubernetes.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	b.platform, err = platform.NewDeployment(platform.DeploymentOptions{URI: b.set.URI(), Members: b.set.Members(),
		Journals: b.journals, Breakers: []platform.Breaker{b.set}})
	if err != nil {
		t.Fatal(err)
	}
	b.client, err = mongo.Connect(options.Client().ApplyURI(b.set.URI()).SetDialer(&dial.Dialer{}).
		SetTimeout(2 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.client.Disconnect(context.Background()) })
	return b, true
}

func volume(dir string) *core.PersistentVolume {
	size := core.ResourceList{core.ResourceStorage: resource.MustParse("64Mi")}
	return &core.PersistentVolume{ObjectMeta: meta.ObjectMeta{Name: "shared"}, Spec: core.PersistentVolumeSpec{
		Capacity: size, AccessModes: []core.PersistentVolumeAccessMode{core.ReadWriteOnce}, StorageClassName: "shared",
		PersistentVolumeSource: core.PersistentVolumeSource{HostPath: &core.HostPathVolumeSource{Path: dir}}}}
}

func statefulSet(program string) *apps.StatefulSet {
	one, no, root, grace, class := int32(1), false, int64(0), int64(5), "shared"
	labels := map[string]string{"app": "mongo"}
	server := core.Container{
		Name: "mongod", Image: "registry.local/pause:1", ImagePullPolicy: core.PullNever,
		Command: []string{"/program/mongod", "--bind_ip", "0.0.0.0", "--port", "27017", "--dbpath", "/data", "--logpath", "/data/log"},
		Ports:   []core.ContainerPort{{Name: "mongodb", ContainerPort: 27017}},
		Resources: core.ResourceRequirements{
			Requests: core.ResourceList{core.ResourceCPU: resource.MustParse("100m")},
			Limits:   core.ResourceList{core.ResourceMemory: resource.MustParse("256Mi")}},
		VolumeMounts:    []core.VolumeMount{{Name: "program", MountPath: "/program"}, {Name: "data", MountPath: "/data"}},
		SecurityContext: &core.SecurityContext{RunAsUser: &root},
	}
	return &apps.StatefulSet{ObjectMeta: meta.ObjectMeta{Name: "mongo"}, Spec: apps.StatefulSetSpec{
		Replicas: &one, ServiceName: "mongo", Selector: &meta.LabelSelector{MatchLabels: labels},
		Template: core.PodTemplateSpec{ObjectMeta: meta.ObjectMeta{Labels: labels}, Spec: core.PodSpec{
			AutomountServiceAccountToken: &no, EnableServiceLinks: &no, TerminationGracePeriodSeconds: &grace,
			Containers: []core.Container{server},
			Volumes: []core.Volume{{Name: "program", VolumeSource: core.VolumeSource{
				HostPath: &core.HostPathVolumeSource{Path: program}}}},
		}},
		VolumeClaimTemplates: []core.PersistentVolumeClaim{{ObjectMeta: meta.ObjectMeta{Name: "data"},
			Spec: core.PersistentVolumeClaimSpec{AccessModes: []core.PersistentVolumeAccessMode{core.ReadWriteOnce},
				StorageClassName: &class, Resources: core.VolumeResourceRequirements{
					Requests: core.ResourceList{core.ResourceStorage: resource.MustParse("64Mi")}}}}},
	}}
}

func (b *bed) ready(ctx context.Context) bool {
	p, err := b.Client.CoreV1().Pods("default").Get(ctx, "mongo-0", meta.GetOptions{})
	return err == nil && p.DeletionTimestamp == nil && len(p.Status.ContainerStatuses) > 0 &&
		p.Status.ContainerStatuses[0].Ready
}

// node is where the member is.
func (b *bed) node(t *testing.T) string {
	t.Helper()
	p, err := b.Client.CoreV1().Pods("default").Get(t.Context(), "mongo-0", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p.Spec.NodeName
}

// write writes documents until ten more are acknowledged, journal included.
func (b *bed) write(t *testing.T) {
	t.Helper()
	db := b.client.Database("test")
	for n := b.written + 10; b.written < n; {
		err := db.RunCommand(t.Context(), bson.D{{Key: "insert", Value: "c"},
			{Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: b.written}}}},
			{Key: "writeConcern", Value: bson.D{{Key: "j", Value: true}}}}).Err()
		switch {
		case err == nil || mongo.IsDuplicateKeyError(err):
			b.written++
		case t.Context().Err() != nil:
			t.Fatal(err)
		}
	}
}

// count waits until the member answers, and counts the documents.
func (b *bed) count(t *testing.T) {
	t.Helper()
	var n int64
	b.Await(t, "answer of the member", func(ctx context.Context) bool {
		var err error
		n, err = b.client.Database("test").Collection("c").CountDocuments(ctx, bson.D{})
		return err == nil
	})
	if n != int64(b.written) {
		t.Errorf("%d documents are there, and %d were acknowledged", n, b.written)
	}
}

// inject injects a fault and verifies it.
func (b *bed) inject(t *testing.T, f spec.Fault) (platform.Injector, platform.Injection) {
	t.Helper()
	i, err := b.platform.Fault(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.Inject(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), kubetest.Limit)
	defer cancel()
	known, err := i.Verify(ctx)
	if err != nil || !known.Hit || known.Disputed {
		t.Fatalf("%+v, %v", known, err)
	}
	t.Log(known.Evidence)
	return i, known
}

func fault(text string) spec.Fault { return spec.Fault{Strike: spec.ParseStrike(text)} }

// TestFaultsOnKubernetes breaks a server in a real Kubernetes in each way of its API. All acknowledged writes survive.
func TestFaultsOnKubernetes(t *testing.T) {
	b, ok := newBed(t)
	if !ok {
		return
	}
	for _, c := range []struct {
		name string
		test func(*testing.T, *bed)
	}{{"pod deleted", testDeleted}} {
		if !t.Run(c.name, func(t *testing.T) { c.test(t, b) }) {
			break
		}
	}
	if err := b.platform.Close(); err != nil {
		t.Error(err)
	}
}

func testDeleted(t *testing.T, b *bed) {
	b.write(t)
	for text, manner := range map[string]string{"pod-delete:mongo-0": record.MannerPlanned, "pod-kill:standalone": record.MannerCrash} {
		began := time.Now()
		_, known := b.inject(t, fault(text))
		if known.Target != "mongo-0" || known.Manner != manner || known.Lasts || known.TakesDown {
			t.Errorf("%s: %+v", text, known)
		}
		if c := known.Commands[0]; !c.Request || !strings.Contains(c.Text, "delete pod mongo-0") {
			t.Errorf("%s: %+v", text, c)
		}
		b.count(t)
		t.Log(text, "ready after", time.Since(began))
		b.write(t)
	}
	if left, err := platform.Left(b.journals); err != nil || len(left) > 0 {
		t.Errorf("the journal has %v, %v", left, err)
	}
}
