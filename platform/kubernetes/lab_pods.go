package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/plimsoll-bench/plimsoll/internal/dial"
	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/kube"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

const (
	mongoPort = 27017
	// dataVolume is the name of a member's volume, and dataDir where the member has it.
	dataVolume, dataDir = "data", "/data/db"
	// mongoUser is the user of members: that of Percona's image. MongoDB's image accepts any.
	mongoUser = 1001
	// labSet is the name of the replica set of a lab.
	labSet = "rs0"
)

// claimOf is the name of the claim of a member's volume.
func claimOf(pod string) string { return dataVolume + "-" + pod }

func claim(asked spec.Lab, labels map[string]string) core.PersistentVolumeClaim {
	c := core.PersistentVolumeClaim{ObjectMeta: meta.ObjectMeta{Name: dataVolume, Labels: labels},
		Spec: core.PersistentVolumeClaimSpec{AccessModes: []core.PersistentVolumeAccessMode{core.ReadWriteOnce},
			Resources: core.VolumeResourceRequirements{Requests: core.ResourceList{
				core.ResourceStorage: *resource.NewQuantity(int64(asked.Storage.Size), resource.BinarySI)}}}}
	if class := asked.Kubernetes.StorageClass; class != "" {
		c.Spec.StorageClassName = &class
	}
	return c
}

func pod(asked spec.Lab, labels map[string]string) core.PodSpec {
	yes, no, user := true, false, int64(mongoUser)
	limits := resources(asked.Hosts.Cores, asked.Hosts.Memory)
	requests := limits
	if r := asked.Kubernetes.Requests; r != nil {
		requests = maps.Clone(limits)
		maps.Copy(requests, resources(r.Cores, r.Memory))
	}
	p := core.PodSpec{
		AutomountServiceAccountToken: &no, EnableServiceLinks: &no,
		SecurityContext: &core.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &user, RunAsGroup: &user, FSGroup: &user,
			SeccompProfile: &core.SeccompProfile{Type: core.SeccompProfileTypeRuntimeDefault}},
		Containers: []core.Container{{
			Name: "mongod", Image: asked.Kubernetes.Image, ImagePullPolicy: core.PullIfNotPresent, Command: mongod(asked),
			TerminationMessagePolicy: core.TerminationMessageFallbackToLogsOnError,
			Ports:                    []core.ContainerPort{{Name: "mongodb", ContainerPort: mongoPort}},
			Resources:                core.ResourceRequirements{Requests: requests, Limits: limits},
			VolumeMounts: []core.VolumeMount{{Name: dataVolume, MountPath: dataDir},
				{Name: "secret", MountPath: secretDir, ReadOnly: true}, {Name: "key", MountPath: keyDir}},
			ReadinessProbe: &core.Probe{PeriodSeconds: 1, ProbeHandler: core.ProbeHandler{
				TCPSocket: &core.TCPSocketAction{Port: intstr.FromInt32(mongoPort)}}},
			SecurityContext: &core.SecurityContext{AllowPrivilegeEscalation: &no,
				Capabilities: &core.Capabilities{Drop: []core.Capability{"ALL"}}},
		}},
	}
	mode := int32(0o440) // of root and the group of the pod
	p.Volumes = []core.Volume{{Name: "secret", VolumeSource: core.VolumeSource{Secret: &core.SecretVolumeSource{
		SecretName: asked.Name, DefaultMode: &mode, Items: []core.KeyToPath{{Key: "keyfile", Path: "keyfile"}}}}},
		{Name: "key", VolumeSource: core.VolumeSource{EmptyDir: &core.EmptyDirVolumeSource{Medium: core.StorageMediumMemory,
			SizeLimit: resource.NewQuantity(1<<20, resource.BinarySI)}}}}
	if over := asked.Kubernetes.Spread; over != "" {
		known := map[string]string{"node": core.LabelHostname, "zone": core.LabelTopologyZone}
		p.TopologySpreadConstraints = []core.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: cmp.Or(known[over], over),
			WhenUnsatisfiable: core.DoNotSchedule, LabelSelector: &meta.LabelSelector{MatchLabels: labels}}}
	}
	return p
}

func resources(cores float64, memory spec.Size) core.ResourceList {
	l := core.ResourceList{}
	if cores > 0 {
		l[core.ResourceCPU] = *resource.NewMilliQuantity(int64(cores*1000), resource.DecimalSI)
	}
	if memory > 0 {
		l[core.ResourceMemory] = *resource.NewQuantity(int64(memory), resource.BinarySI)
	}
	return l
}

// mongod is the command of a member.
func mongod(asked spec.Lab) []string {
	e := asked.Engine
	c := []string{"/bin/sh", "-c", copyKey, "sh", cmp.Or(e.Binary, "mongod"), "--bind_ip", "0.0.0.0", "--port", strconv.Itoa(mongoPort),
		"--dbpath", dataDir, "--keyFile", keyDir + "/keyfile"}
	if asked.Topology.Kind == spec.LabReplicaSet {
		c = append(c, "--replSet", labSet)
	}
	if e.Cache > 0 {
		c = append(c, "--wiredTigerCacheSizeGB", strconv.FormatFloat(float64(e.Cache)/(1<<30), 'f', -1, 64))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Parameters)) {
		c = append(c, "--setParameter", name+"="+e.Parameters[name])
	}
	return append(c, e.Args...)
}

// form makes the members a replica set, if they shall be one, and waits for its primary and secondaries.
func (s *Set) form(ctx context.Context, asked spec.Lab) error {
	config, err := setConfig(asked, s.Members())
	if err != nil {
		return err
	}
	var problem error
	for {
		if problem = s.formed(ctx, asked, config); problem == nil {
			return nil
		}
		if cause := wait.Sleep(ctx, pollEvery); cause != nil {
			return fmt.Errorf("%w: %w", cause, problem)
		}
	}
}

// formed says what the members still lack. It initiates their set, and makes the user of its clients.
func (s *Set) formed(ctx context.Context, asked spec.Lab, config bson.D) error {
	primary := ""
	for i, m := range s.Members() {
		h, err := s.hello(ctx, m.Address)
		if err != nil {
			return fmt.Errorf("%s does not answer: %w", m.Name, err)
		}
		if h.Writable {
			primary = m.Address
		}
		switch {
		case asked.Topology.Kind != spec.LabReplicaSet:
		case h.SetName == "" && i == 0:
			if err := command(ctx, s.access.member(m.Address), bson.D{{Key: "replSetInitiate", Value: config}}); err != nil {
				return fmt.Errorf("cannot initiate the replica set: %w", err)
			}
			return errors.New("the replica set was just initiated")
		case !h.Writable && !h.Secondary:
			return fmt.Errorf("%s is %s", m.Name, h.Words())
		}
	}
	if primary == "" {
		return errors.New("no member is primary")
	}
	if err := s.access.makeUser(ctx, primary); err != nil {
		return fmt.Errorf("cannot create the user of the lab: %w", err)
	}
	uri, err := s.URI(ctx)
	if err != nil {
		return err
	}
	return ping(ctx, uri)
}

func setConfig(asked spec.Lab, list []spec.PlatformMember) (bson.D, error) {
	var members bson.A
	for i, m := range list {
		of := bson.D{{Key: "_id", Value: int32(i)}, {Key: "host", Value: m.Address}}
		switch {
		case i >= asked.Topology.DataVotes():
			of = append(of, bson.E{Key: "priority", Value: 0.0}, bson.E{Key: "votes", Value: int32(0)})
		case i < len(asked.Topology.Priorities):
			of = append(of, bson.E{Key: "priority", Value: asked.Topology.Priorities[i]})
		}
		members = append(members, of)
	}
	config := bson.D{{Key: "_id", Value: labSet}, {Key: "members", Value: members}}
	all, err := asked.Topology.SetSettings()
	if err != nil {
		return nil, err
	}
	var settings bson.D
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if e := (bson.E{Key: name, Value: all[name]}); name == "writeConcernMajorityJournalDefault" {
			config = append(config, e)
		} else {
			settings = append(settings, e)
		}
	}
	if settings != nil {
		config = append(config, bson.E{Key: "settings", Value: settings})
	}
	return config, nil
}

// ping fails if there is no primary.
func ping(ctx context.Context, uri string) error {
	return command(ctx, uri, bson.D{{Key: "ping", Value: 1}})
}

func command(ctx context.Context, uri string, of bson.D) error {
	ctx, cancel := context.WithTimeout(ctx, helloWithin)
	defer cancel()
	o := options.Client().ApplyURI(uri).SetDialer(&dial.Dialer{}).SetServerSelectionTimeout(helloWithin)
	c, err := mongo.Connect(o)
	if err != nil {
		return err
	}
	defer func() { _ = c.Disconnect(ctx) }() // nothing is under way
	return c.Database("admin").RunCommand(ctx, of).Err()
}

// describe returns a lab with its nodes, members and volumes as they are now.
func (s *Set) describe(ctx context.Context, l record.Lab) (record.Lab, error) {
	l.Hosts, l.Members, l.Volumes = nil, nil, nil
	all, err := kube.List[core.Pod](ctx, s.cluster.Cluster, kube.Pods, s.selector)
	if err != nil {
		return l, err
	}
	slices.SortFunc(all, func(a, b core.Pod) int { return cmp.Compare(a.Name, b.Name) })
	asked := l.Specification
	for _, p := range all {
		m := record.LabMember{Name: p.Name, Kind: "mongod", Host: p.Spec.NodeName, Address: s.address(&p), State: "running",
			Role: "unknown", Volume: claimOf(p.Name)}
		if asked.Topology.Kind == spec.LabReplicaSet {
			m.Set = labSet
		}
		id, err := s.identify(ctx, m.Address)
		l.Version = cmp.Or(l.Version, id.Release)
		switch h := id.Hello; {
		case err != nil:
			m.State, m.Problem = "dead", err.Error()
		case h.Writable && h.SetName == "":
			m.Role = "standalone"
		case h.Writable:
			m.Role = "primary"
		case h.Secondary:
			m.Role = "secondary"
		}
		l.Members = append(l.Members, m)
		// The limits are those of each pod, so a node with two of them is there twice.
		l.Hosts = append(l.Hosts, record.LabHost{Name: p.Spec.NodeName, Role: "member", Mode: spec.LabKubernetes,
			Address: p.Status.HostIP, State: "on", Cores: asked.Hosts.Cores, Memory: int64(asked.Hosts.Memory),
			Members: []string{p.Name}})
		volumes, err := s.volumes(ctx, &p)
		if err != nil {
			return l, err
		}
		for _, v := range volumes {
			l.Volumes = append(l.Volumes, record.LabVolume{Name: v.Claim, Member: p.Name, Mount: dataDir, Health: "unknown",
				Policy:   fmt.Sprintf("StorageClass %s, %s", cmp.Or(v.Class, "unknown"), figure.Bytes(int64(asked.Storage.Size))),
				Layout:   record.LabLayout{Backend: cmp.Or(v.Driver, v.Class)},
				Capacity: int64(asked.Storage.Size)})
		}
	}
	if uri, err := s.withoutLogin(ctx); err == nil {
		l.URI = uri
	}
	return l, nil
}
