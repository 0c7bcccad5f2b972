package engine

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/plimsoll-bench/plimsoll/lab/host"
)

// EtcdOptions describe one member of an etcd cluster.
type EtcdOptions struct {
	Home string // directory of engines
	Name string
	Host host.Host
	Log  string // file
	Dir  string // of its data, made if it does not exist
	// Token distinguishes the cluster from others on this machine.
	Token string
}

// Etcd is a member of the etcd cluster that holds the lease of the primary. It stays on its host: its address is its
// identity in the cluster.
type Etcd struct {
	placed
	o     EtcdOptions
	peer  int // its port for other members
	peers []*Etcd
}

var _ Node = (*Etcd)(nil)

const etcdFile = "/usr/bin/etcd"

// NewEtcd makes a member that does not run yet.
func NewEtcd(ctx context.Context, o EtcdOptions) (*Etcd, error) {
	inst, err := findInstalled(ctx, o.Home)
	if err != nil {
		return nil, err
	}
	e := &Etcd{placed: placed{name: o.Name, kind: "etcd", log: o.Log, inst: inst}, o: o}
	if err := e.assignHost(o.Host); err != nil {
		return nil, err
	}
	e.peer, err = o.Host.Port()
	return e, err
}

// SetPeers sets all members of the cluster, this one included, before the first start.
func (e *Etcd) SetPeers(all []*Etcd) { e.peers = all }

func (e *Etcd) peerURL() string {
	ip, _ := e.endpoint()
	return "http://" + net.JoinHostPort(ip, strconv.Itoa(e.peer))
}

func (e *Etcd) DataDir() string { return e.o.Dir }

func (e *Etcd) Start(ctx context.Context) error {
	e.starting.Lock()
	defer e.starting.Unlock()
	if err := os.MkdirAll(e.o.Dir, 0o700); err != nil {
		return err
	}
	if err := os.Chown(e.o.Dir, int(e.inst.uid), int(e.inst.gid)); err != nil {
		return err
	}
	var cluster []string
	for _, p := range e.peers {
		cluster = append(cluster, p.name+"="+p.peerURL())
	}
	clients := "http://" + e.Address()
	s := e.inst.program(e.o.Dir, e.name, etcdFile, "--name="+e.name, "--data-dir="+dataMount+"/etcd",
		"--listen-client-urls="+clients, "--advertise-client-urls="+clients, "--listen-peer-urls="+e.peerURL(),
		"--initial-advertise-peer-urls="+e.peerURL(), "--initial-cluster="+strings.Join(cluster, ","),
		"--initial-cluster-state=new", "--initial-cluster-token="+e.o.Token, "--log-level=warn")
	s.Also = append(s.Also, e.Host().Limits().ForGo(etcdShare)...)
	return e.launch(ctx, s)
}

// etcdShare is the part of a host's memory that etcd may use, as one of so many programs. Most is for the member
// on the same host.
const etcdShare = 8

// Wait waits until it answers, also without a quorum.
func (e *Etcd) Wait(ctx context.Context) error {
	return e.untilAnswers(ctx, func(ctx context.Context) error {
		return e.request(ctx, http.MethodGet, "/version", nil, nil)
	})
}

func (e *Etcd) Stop(ctx context.Context) error { return e.end(ctx, syscall.SIGTERM) }

// Settings has none with an effect on durability that differs from etcd's defaults.
func (e *Etcd) Settings(context.Context) (map[string]string, error) { return map[string]string{}, nil }

// Put writes a key with a lease of so many seconds; 0 is no lease. It retries until the cluster has a quorum.
func (e *Etcd) Put(ctx context.Context, key, value string, lease int) error {
	return e.untilAnswers(ctx, func(ctx context.Context) error { return e.put(ctx, key, value, lease) })
}

func (e *Etcd) put(ctx context.Context, key, value string, lease int) error {
	put := map[string]any{"key": []byte(key), "value": []byte(value)}
	if lease > 0 {
		var granted struct {
			ID string `json:"ID"`
		}
		if err := e.request(ctx, http.MethodPost, "/v3/lease/grant", map[string]any{"TTL": lease}, &granted); err != nil {
			return err
		}
		put["lease"] = granted.ID
	}
	return e.request(ctx, http.MethodPost, "/v3/kv/put", put, nil)
}

// Get reads a key; empty if there is none. It needs a quorum.
func (e *Etcd) Get(ctx context.Context, key string) (string, error) {
	var found struct {
		Values []struct {
			Value []byte `json:"value"`
		} `json:"kvs"`
	}
	at := map[string]any{"key": []byte(key)}
	if err := e.request(ctx, http.MethodPost, "/v3/kv/range", at, &found); err != nil || len(found.Values) == 0 {
		return "", err
	}
	return string(found.Values[0].Value), nil
}

// Leads reports whether this member is the leader of the cluster.
func (e *Etcd) Leads(ctx context.Context) (bool, error) {
	var status struct {
		Header struct {
			Member string `json:"member_id"`
		} `json:"header"`
		Leader string `json:"leader"`
	}
	err := e.request(ctx, http.MethodPost, "/v3/maintenance/status", struct{}{}, &status)
	return err == nil && status.Leader == status.Header.Member, err
}

// request sends a request of etcd's HTTP interface. It has keys and values in base64, as JSON has bytes.
func (e *Etcd) request(ctx context.Context, method, path string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	text, err := requestJSON(ctx, method, "http://"+e.Address()+path, nil, body)
	if err != nil || answer == nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

// Move refuses another host.
func (e *Etcd) Move(to host.Host) error {
	if to != e.Host() {
		return errors.New("a member of etcd stays on its host")
	}
	return nil
}
