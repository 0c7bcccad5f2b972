package repotest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// connects are the functions and types that open connections, by the import path of their package. "*" is every name of
// a package.
var connects = map[string][]string{
	"net":        {"Dial", "DialTimeout", "DialTCP", "DialUDP", "DialUnix", "DialIP", "Dialer"},
	"crypto/tls": {"Dial", "DialWithDialer", "Dialer"},
	"net/http":   {"Get", "Head", "Post", "PostForm", "Client", "Transport", "DefaultClient", "DefaultTransport"},
	"net/rpc":    {"*"}, "net/smtp": {"*"},
	"syscall": {"Connect"}, "golang.org/x/sys/unix": {"Connect"},
	module + "internal/dial":                               {"Dialer"},
	"go.mongodb.org/mongo-driver/v2/mongo":                 {"Connect"},
	"github.com/nats-io/nats.go":                           {"Connect"},
	"github.com/jackc/pgx/v5/pgconn":                       {"Connect", "ConnectConfig", "ConnectWithOptions"},
	"github.com/minio/minio-go/v7":                         {"New"},
	"github.com/google/go-containerregistry/pkg/v1/remote": {"List", "Image", "Write", "Get", "Head", "Index", "Delete"},
	"github.com/vmware/govmomi/vim25/soap":                 {"NewClient"},
	"k8s.io/client-go/dynamic":                             {"NewForConfig", "NewForConfigAndClient"},
	"k8s.io/client-go/rest":                                {"HTTPClientFor", "RESTClientFor", "UnversionedRESTClientFor", "TransportFor"},
	"k8s.io/client-go/transport/spdy":                      {"RoundTripperFor", "NewDialer"},
	"k8s.io/client-go/tools/portforward":                   {"New", "NewOnAddresses", "NewSPDYOverWebsocketDialer"},
}

// quiet are the libraries, by the beginning of their import paths, that connect to nothing, or only through a client of
// [connects].
var quiet = []string{
	"github.com/HdrHistogram/", "github.com/ProtonMail/go-crypto/", "github.com/cockroachdb/pebble/", "github.com/google/nftables",
	"github.com/google/go-containerregistry/pkg/authn", "github.com/google/go-containerregistry/pkg/name",
	"github.com/google/go-containerregistry/pkg/v1/", "github.com/hanwen/go-fuse/", "github.com/invopop/jsonschema",
	"github.com/klauspost/compress/", "github.com/minio/minio-go/v7/pkg/credentials", "github.com/nats-io/jwt/", "github.com/nats-io/nkeys",
	"github.com/nats-io/nats-server/", "github.com/nats-io/nats.go/jetstream", "github.com/pb33f/ordered-map/", "github.com/prometheus/client_golang/",
	"github.com/prometheus/procfs", "github.com/santhosh-tekuri/jsonschema/", "github.com/spf13/", "github.com/vishvananda/netlink",
	"github.com/vishvananda/netns", "github.com/vmware/govmomi/", "github.com/xdg-go/", "go.mongodb.org/mongo-driver/v2/bson",
	"go.mongodb.org/mongo-driver/v2/event", "go.mongodb.org/mongo-driver/v2/mongo/", "go.mongodb.org/mongo-driver/v2/version",
	"go.mongodb.org/mongo-driver/v2/x/", "go.yaml.in/yaml/", "golang.org/x/sys/", "golang.org/x/term", "k8s.io/api/",
	"k8s.io/apimachinery/", "k8s.io/client-go/kubernetes/scheme", "k8s.io/client-go/tools/clientcmd",
}

// asked are the files that open connections to what a specification, a record or a command line names, with the file
// that asks the permit of the context before.
var asked = map[string]string{
	"cmd/plimsoll/capacity.go":           "cmd/plimsoll/capacity.go",
	"cmd/plimsoll/capacity_parameter.go": "cmd/plimsoll/capacity_parameter.go",
	"cmd/plimsoll/disk_server.go":        "cmd/plimsoll/disk_server.go",
	"disk/witness/client.go":             "disk/witness/client.go",
	"drill/view.go":                      "run/target.go",
	"lab/engine/download.go":             "lab/engine/download.go",
	"platform/client.go":                 "run/target.go",
	"internal/kube/kube.go":              "platform/kubernetes/set.go",
	"platform/kubernetes/forward.go":     "platform/kubernetes/set.go",
	"platform/kubernetes/lab_pods.go":    "platform/kubernetes/lab.go",
	"platform/kubernetes/set.go":         "platform/kubernetes/set.go",
	"platform/vsphere/client.go":         "platform/vsphere/backend.go",
	"record/remote/oci.go":               "record/remote/remote.go",
	"record/remote/s3.go":                "record/remote/remote.go",
	"run/observe/metrics.go":             "run/observe/metrics.go",
	"store/mongo/open.go":                "run/target.go",
	"store/rest/store.go":                "run/target.go",
	"store/wire/settings.go":             "run/target.go",
	"workload/capture/doc.go":            "workload/capture/doc.go",
}

// unasked are the files that open connections without a permit, with the reason.
var unasked = map[string]string{
	"examples/failover/persons/persons.go": "the service of a run, a program of its own",
	"fleet/kubernetes/task.go":             "reads the log of a pod that this process started",
	"fleet/nats/connect.go":                "the server of agents, which only a command that starts a load or an agent opens",
	"internal/dial/dial.go":                "makes the connections of the other places",
	"lab/action/probe.go":                  "a member of a lab of this user, of which a fault was injected",
	"lab/engine/mongonode_client.go":       "a server that the lab started",
	"lab/engine/patroni.go":                "a server that the lab started",
	"lab/engine/postgres_client.go":        "a server that the lab started",
	"lab/engine/postgres_node.go":          "a server that the lab started",
	"lab/engine/usable.go":                 "a server that the lab started",
	"lab/faultfs/client.go":                "the socket of a disk that the lab mounted",
	"lab/handle.go":                        "the socket of a lab of this user",
	"lab/socket.go":                        "the socket of a lab of this user",
	"lab/topology/documentdb.go":           "finds the address of this machine, and sends nothing",
	"platform/members.go":                  "the members of a platform file, for a drill and its dry run; a plan makes no deployment",
}

// connections lists where a file opens connections, and which libraries it imports that are neither in [connects] nor
// in [quiet].
func connections(s source) (uses, unknown []string) {
	names := map[string][]string{} // by the name of the package in the file
	for _, i := range s.file.Imports {
		target, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		if list, ok := connects[target]; ok {
			name := path.Base(target)
			if v, err := strconv.Atoi(strings.TrimPrefix(name, "v")); err == nil && v > 0 {
				name = path.Base(path.Dir(target))
			}
			if name, _, _ = strings.Cut(name, "."); i.Name != nil {
				name = i.Name.Name
			}
			names[strings.TrimSuffix(name, "-go")] = list
			continue
		}
		domain, _, _ := strings.Cut(target, "/")
		begins := func(prefix string) bool { return strings.HasPrefix(target, prefix) }
		if strings.Contains(domain, ".") && !begins(module) && !slices.ContainsFunc(quiet, begins) {
			unknown = append(unknown, s.at(i.Pos())+": "+target)
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StarExpr: // a type, which opens nothing
			_, ok := n.X.(*ast.SelectorExpr)
			return !ok
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok &&
				(slices.Contains(names[pkg.Name], n.Sel.Name) || slices.Contains(names[pkg.Name], "*")) {
				uses = append(uses, fmt.Sprintf("%s: %s.%s", s.at(n.Pos()), pkg.Name, n.Sel.Name))
			}
		}
		return true
	})
	return uses, unknown
}

// asks reports whether a file asks for one of some permits.
func asks(s source, permits ...string) bool {
	found := false
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) < 2 {
			return true
		}
		is := func(e ast.Expr, names []string) bool {
			sel, ok := e.(*ast.SelectorExpr)
			if !ok {
				return false
			}
			pkg, ok := sel.X.(*ast.Ident)
			return ok && pkg.Name == "permit" && slices.Contains(names, sel.Sel.Name)
		}
		found = found || is(call.Fun, []string{"Check", "Has"}) && is(call.Args[1], permits)
		return true
	})
	return found
}

// A plan connects to nothing: every place that opens a connection is known, with who asks whether it may.
func TestConnectionsAreOpenedInKnownPlaces(t *testing.T) {
	all := sources(t)
	by := shipped(all, "cmd/plimsoll")
	used, asking := map[string]bool{}, map[string]bool{}
	for _, s := range all {
		asking[s.name] = asks(s, "Dial")
		if _, ok := by[s.folder()]; !ok || s.isTest() {
			continue
		}
		uses, unknown := connections(s)
		for _, library := range unknown {
			t.Errorf("%s: does this library open connections? Add it to connects or to quiet in internal/repotest", library)
		}
		used[s.name] = len(uses) > 0
		if asked[s.name] == "" && unasked[s.name] == "" {
			for _, use := range uses {
				t.Errorf("%s: ask the permit of the context (internal/permit) before, and add the file to asked in internal/repotest", use)
			}
		}
	}
	for file, by := range asked {
		if !asking[by] {
			t.Errorf("%s opens connections, but %s does not ask whether it may", file, by)
		}
		if !used[file] || unasked[file] != "" {
			t.Errorf("the entry of %s in asked is not needed: remove it", file)
		}
	}
	for file := range unasked {
		if !used[file] {
			t.Errorf("the entry of %s in unasked is not needed: remove it", file)
		}
	}
}

func TestConnectionsAreFound(t *testing.T) {
	s := parse(t, "run/a.go", `package run
import ("net"; web "net/http"; "github.com/nats-io/nats.go"; "go.mongodb.org/mongo-driver/v2/mongo"; "example.com/ftp"
	"github.com/minio/minio-go/v7"; "go.mongodb.org/mongo-driver/v2/bson")
var a = net.Dialer{}
var b *web.Client
var c = &web.Client{}
func d() { net.Dial("tcp", "h:1"); net.Listen("tcp", "h:1"); nats.Connect("u"); mongo.Connect(); f := web.Get; _ = f; minio.New("") }
`)
	uses, unknown := connections(s)
	if len(uses) != 7 || len(unknown) != 1 {
		t.Errorf("found %q and %q, want seven uses and one library", uses, unknown)
	}
	for text, want := range map[string]bool{
		"permit.Check(ctx, permit.Dial, name)": true, "permit.Has(ctx, permit.Dial)": true,
		"permit.Check(ctx, permit.Read, name)": false, "permit.With(ctx, permit.Dial)": false,
	} {
		if got := asks(parse(t, "run/a.go", "package run\nfunc f() { "+text+" }\n"), "Dial"); got != want {
			t.Errorf("%s asks: %v, want %v", text, got, want)
		}
	}
}
