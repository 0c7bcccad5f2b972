package kubernetes

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/httpstream" //lint:ignore SA1019 client-go has no port-forward with the new type
	kuberuntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"

	"github.com/plimsoll-bench/plimsoll/internal/wait"
)

// forward leads connections to the pod of a name, whichever pod that is now.
type forward struct {
	cluster   *cluster
	watch     *watch
	pod       string
	remote    string // the port of the pod
	ended     sync.WaitGroup
	connected chan struct{} // closed when it led to the pod first

	mu   sync.Mutex
	port uint16 // 0 if nothing leads to the pod
}

func newForward(ctx context.Context, c *cluster, w *watch, pod, port string) *forward {
	f := &forward{cluster: c, watch: w, pod: pod, remote: port, connected: make(chan struct{})}
	f.ended.Go(func() {
		for ctx.Err() == nil {
			k := w.await(ctx, pod, func(k known) bool { return k.runs })
			if k.runs {
				f.lead(ctx, k.uid)
			}
			_ = wait.Sleep(ctx, 50*time.Millisecond) // the loop sees the end
		}
	})
	return f
}

// local is the local address that leads to the pod. It waits for the first time only.
func (f *forward) local() (string, error) {
	select {
	case <-f.connected:
	case <-time.After(firstWithin):
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.port == 0 { // as where no server listens
		return "", os.NewSyscallError("connect", syscall.ECONNREFUSED)
	}
	return "127.0.0.1:" + strconv.Itoa(int(f.port)), nil
}

// firstWithin is how long the first connection to a member waits for its way.
const firstWithin = 5 * time.Second

// lead leads connections to a pod until that pod is replaced or the way is lost.
func (f *forward) lead(ctx context.Context, uid string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.ended.Go(func() {
		f.watch.await(ctx, f.pod, func(k known) bool { return k.uid != uid })
		cancel()
	})
	ready := make(chan struct{})
	over := make(chan error, 1)
	var pf *portforward.PortForwarder
	dialer, err := f.dialer()
	if err == nil {
		pf, err = portforward.NewOnAddressesWithContext(ctx, dialer, []string{"127.0.0.1"}, []string{"0:" + f.remote}, ready, nil, nil)
	}
	if err != nil {
		return
	}
	go func() { over <- pf.ForwardPorts() }() // its dialing cannot be interrupted
	select {
	case <-ready:
	case <-over:
		return
	case <-ctx.Done():
		return
	}
	if list, err := pf.GetPorts(); err == nil && len(list) == 1 {
		f.set(list[0].Local)
		defer f.set(0)
	}
	select {
	case <-over:
	case <-ctx.Done():
	}
}

func (f *forward) set(port uint16) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.port = port; port != 0 {
		select {
		case <-f.connected:
		default:
			close(f.connected)
		}
	}
}

// dialer connects by WebSocket or, where a proxy or an old API server has none, by SPDY.
func (f *forward) dialer() (httpstream.Dialer, error) {
	config := f.cluster.Config
	u, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	u = u.JoinPath("api/v1/namespaces", f.cluster.Namespace, "pods", f.pod, "portforward")
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, fmt.Errorf("cannot prepare a port-forward: %w", err)
	}
	old := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, u)
	present, err := portforward.NewSPDYOverWebsocketDialer(u, config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialer(present, old, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

// init keeps the client of Kubernetes from writing to standard error whatever a lost connection gives.
func init() { kuberuntime.ErrorHandlers = nil }
