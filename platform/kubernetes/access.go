package kubernetes

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/plimsoll-bench/plimsoll/internal/kube"
)

var ()

const (
	// labUser is the user of a lab, who may do everything.
	labUser = "plimsoll"
	// loadLabel is on the pods of a user that load a lab. Its value is the name of the lab.
	loadLabel = "plimsoll-load"
	// secretDir has the Secret of a lab. Files of Secrets belong to root, and mongod takes a key only from a file that
	// nobody but its user can read, so the container copies it to keyDir.
	secretDir, keyDir = "/plimsoll/secret", "/plimsoll/key"
)

// copyKey is the script that starts mongod. It needs only a shell in the image.
const copyKey = `(umask 077 && read -r key <` + secretDir + `/keyfile && echo "$key" >` + keyDir + `/keyfile) && exec "$@"`

// access is what clients of a lab must know. Its zero value is that of a deployment without authentication.
type access struct {
	key      string // of the members
	password string // of labUser
}

func newAccess() access {
	return access{key: rand.Text() + rand.Text(), password: rand.Text()}
}

// secret is the Secret of a lab: the key of its members, and the user and password of its clients.
func (a access) secret(head meta.ObjectMeta) *core.Secret {
	return &core.Secret{TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: head,
		StringData: map[string]string{"keyfile": a.key + "\n", "username": labUser, "password": a.password}}
}

// accessOf reads the Secret of a lab.
func accessOf(ctx context.Context, c *cluster, name string) (access, error) {
	s, err := kube.Get[core.Secret](ctx, c.Cluster, kube.Secrets, name)
	if err != nil {
		return access{}, err
	}
	a := access{strings.TrimSpace(string(s.Data["keyfile"])), string(s.Data["password"])}
	if a.key == "" || a.password == "" {
		return a, errors.New("the Secret " + name + " has no keyfile or no password. Remove the lab, and start it again")
	}
	return a, nil
}

// member is the address of one member, as which the members know each other. They take this user before there is any
// other, and whatever a member has replicated.
func (a access) member(address string) string {
	if a.key == "" {
		return "mongodb://" + address + "/?directConnection=true"
	}
	return "mongodb://__system:" + a.key + "@" + address + "/?directConnection=true&authSource=local"
}

// clients is an address of clients, without credentials, with the user of the lab.
func (a access) clients(uri string) string {
	if a.password == "" {
		return uri
	}
	rest, more := strings.TrimPrefix(uri, "mongodb://"), "?authSource=admin"
	if strings.Contains(rest, "?") {
		more = "&authSource=admin"
	}
	return "mongodb://" + labUser + ":" + a.password + "@" + rest + more
}

// makeUser makes the user of a lab on its primary.
func (a access) makeUser(ctx context.Context, primary string) error {
	err := command(ctx, a.member(primary), bson.D{{Key: "createUser", Value: labUser}, {Key: "pwd", Value: a.password},
		{Key: "roles", Value: bson.A{"root"}}, {Key: "writeConcern", Value: bson.D{{Key: "w", Value: "majority"}}}})
	const exists = 51003
	if of := (mongo.CommandError{}); errors.As(err, &of) && of.Code == exists {
		return nil
	}
	return err
}

// policy lets only the members of a lab, the agents of Plimsoll and pods with [loadLabel] reach its members. Ways
// through the API server, such as kubectl port-forward, are not subject to it.
func policy(head meta.ObjectMeta, name string) *networking.NetworkPolicy {
	port, pods := intstr.FromInt32(mongoPort), func(labels map[string]string) *meta.LabelSelector {
		return &meta.LabelSelector{MatchLabels: labels}
	}
	return &networking.NetworkPolicy{TypeMeta: meta.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: head, Spec: networking.NetworkPolicySpec{PodSelector: *pods(head.Labels),
			PolicyTypes: []networking.PolicyType{networking.PolicyTypeIngress},
			Ingress: []networking.NetworkPolicyIngressRule{{
				Ports: []networking.NetworkPolicyPort{{Port: &port}},
				From: []networking.NetworkPolicyPeer{{PodSelector: pods(head.Labels)},
					{NamespaceSelector: &meta.LabelSelector{}, PodSelector: pods(map[string]string{
						"app.kubernetes.io/name": "plimsoll-agents", "app.kubernetes.io/managed-by": "plimsoll"})},
					{PodSelector: pods(map[string]string{loadLabel: name})}},
			}}}}
}
