package kubernetes

import (
	"errors"
	"slices"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/plimsoll-bench/plimsoll/internal/kube"
	"github.com/plimsoll-bench/plimsoll/server"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// Pods of operators and charts are found by the labels that these give them, and pods of others are not.
func TestFindByLabels(t *testing.T) {
	for kind, labels := range map[string]map[string]string{
		"Percona Operator for MongoDB": {"app.kubernetes.io/managed-by": "percona-server-mongodb-operator",
			"app.kubernetes.io/instance": "db", "app.kubernetes.io/name": "percona-server-mongodb", "app.kubernetes.io/component": "mongod"},
		"MongoDB Community Operator":       {"app": "db-svc"},
		"Bitnami chart":                    {"app.kubernetes.io/name": "mongodb-sharded", "app.kubernetes.io/instance": "db"},
		"label app.kubernetes.io/instance": {"app.kubernetes.io/name": "ferretdb", "app.kubernetes.io/instance": "db"},
		"label app":                        {"app": "db"},
	} {
		var objects []runtime.Object
		for name, l := range map[string]map[string]string{"db-0": labels, "db-1": labels,
			"other": {"app": "db2", "app.kubernetes.io/instance": "db2"}} {
			objects = append(objects, &core.Pod{ObjectMeta: meta.ObjectMeta{Name: name, Namespace: "here", Labels: l}})
		}
		objects = append(objects, &core.Pod{ObjectMeta: meta.ObjectMeta{Name: "ended", Namespace: "here", Labels: labels},
			Status: core.PodStatus{Phase: core.PodSucceeded}})
		api := fake.NewSimpleDynamicClient(scheme.Scheme, objects...)
		s := &Set{name: "db", cluster: &cluster{&kube.Cluster{Login: kube.Login{Namespace: "here"}, Client: api}}}
		err := s.find(t.Context())
		var names []string
		for _, p := range s.pods {
			names = append(names, p.Name)
		}
		if err != nil || s.kind != kind || !slices.Equal(names, []string{"db-0", "db-1"}) {
			t.Errorf("%s: found %v by %q, %v", kind, names, s.kind, err)
		}
		s.name, s.kind, s.pods = "none", "", nil
		if err := s.find(t.Context()); err == nil || !strings.Contains(err.Error(), "no pod has it in a label") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// The address is that of the set or of the routers, whichever members answer.
func TestURI(t *testing.T) {
	down := errors.New("no answer")
	member := func(name string) server.Hello { return server.Hello{SetName: name} }
	router := server.Hello{Message: "isdbgrid"}
	for name, c := range map[string]struct {
		hellos   []server.Hello
		problems []error
		want     string
	}{
		"set":             {[]server.Hello{member("rs"), member("rs")}, []error{nil, nil}, "mongodb://a:1,b:1/?replicaSet=rs"},
		"first is down":   {[]server.Hello{{}, member("rs")}, []error{down, nil}, "mongodb://a:1,b:1/?replicaSet=rs"},
		"all are down":    {[]server.Hello{{}, {}}, []error{down, down}, "a does not answer: no answer"},
		"single":          {[]server.Hello{{}}, []error{nil}, "mongodb://a:1/?directConnection=true"},
		"single is down":  {[]server.Hello{{}}, []error{down}, "a does not answer: no answer"},
		"sharded cluster": {[]server.Hello{member("cfg"), router, member("rs0"), router}, []error{nil, nil, down, nil}, "mongodb://b:1,d:1/"},
		"several sets":    {[]server.Hello{member("rs0"), member("rs1")}, []error{nil, nil}, "give it as the target, with --platform k8s:here/db"},
		"several singles": {[]server.Hello{{}, {}}, []error{nil, nil}, "give it as the target, with --platform k8s:here/db"},
	} {
		s := &Set{name: "db", cluster: &cluster{&kube.Cluster{Login: kube.Login{Namespace: "here"}}}}
		var members []spec.PlatformMember
		for i := range c.hellos {
			m := string(rune('a' + i))
			members = append(members, spec.PlatformMember{Name: m, Address: m + ":1"})
		}
		got, err := s.uriOf(members, c.hellos, c.problems)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(strings.ToLower(got), strings.ToLower(c.want)) || (err == nil) != strings.HasPrefix(c.want, "mongodb") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
