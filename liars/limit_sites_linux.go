package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/plimsoll-bench/plimsoll/internal/childproc"
	"github.com/plimsoll-bench/plimsoll/lab/engine"
	"github.com/plimsoll-bench/plimsoll/lab/faultfs"
)

// site is a deployment that the trials of some plants share. It starts with the first of them.
type site struct {
	uri     string
	address string // of the server that clients connect to
	client  *mongo.Client
	servers []*exec.Cmd // the last one is what a client connects to
	disks   []string    // names of the virtual disks of the servers
}

// process is the number of a server.
func (s *site) process(i int) int { return s.servers[i].Process.Pid }

// admin runs a command on the server that clients connect to.
func (s *site) admin(ctx context.Context, command bson.D) error {
	return s.client.Database("admin").RunCommand(ctx, command).Err()
}

// The sites, by name. A name of a disk has its speed.
const (
	plainSite  = "plain"
	setSite    = "set"
	routerSite = "router"
)

// at returns a site, which it starts if it does not run yet.
func (l *limits) at(ctx context.Context, name string, disk faultfs.Device) (*site, error) {
	if s := l.sites[name]; s != nil {
		return s, nil
	}
	s := &site{}
	l.sites[name] = s // also if it fails: its servers have to end
	var err error
	switch name {
	case plainSite:
		err = l.single(ctx, s, "", "--replSet", "rs0")
	case setSite:
		err = l.set(ctx, s)
	case routerSite:
		err = l.routed(ctx, s)
	default:
		err = l.onDisk(ctx, s, name, disk)
	}
	if err != nil {
		return nil, fmt.Errorf("start the servers of %s: %w", name, err)
	}
	return s, nil
}

// launch starts a server of a site with its data in dir, or in a new directory.
func (l *limits) launch(s *site, program, dir string, args ...string) (address string, err error) {
	home, err := os.MkdirTemp(l.dir, "server")
	if err != nil {
		return "", err
	}
	port, err := engine.FreePort()
	if err != nil {
		return "", err
	}
	args = append([]string{"--bind_ip", "127.0.0.1", "--port", strconv.Itoa(port), "--logpath", filepath.Join(home, "log"),
		"--setParameter", "diagnosticDataCollectionEnabled=false"}, args...)
	if program == l.mongod {
		if dir == "" {
			dir = home
		}
		args = append(args, "--dbpath", dir, "--wiredTigerCacheSizeGB", "0.25")
	}
	cmd := exec.Command(program, args...)
	if err := childproc.Start(cmd); err != nil {
		return "", err
	}
	s.servers = append(s.servers, cmd)
	return "127.0.0.1:" + strconv.Itoa(port), nil
}

// single is a replica set of one member.
func (l *limits) single(ctx context.Context, s *site, dir string, args ...string) error {
	address, err := l.launch(s, l.mongod, dir, args...)
	if err != nil {
		return err
	}
	return l.initiate(ctx, s, "rs0", "", address)
}

// onDisk is a replica set of one member on a virtual disk, whose data do not pass the page cache.
func (l *limits) onDisk(ctx context.Context, s *site, name string, d faultfs.Device) error {
	dir, err := l.disk(ctx, s, name, d)
	if err != nil {
		return err
	}
	return l.single(ctx, s, dir, "--replSet", "rs0", "--wiredTigerEngineConfigString", "direct_io=[data]")
}

// disk makes a virtual disk with a filesystem.
func (l *limits) disk(ctx context.Context, s *site, name string, d faultfs.Device) (dir string, err error) {
	if err := errors.Join(need(), l.disks.serve(ctx)); err != nil {
		return "", err
	}
	if err := l.disks.client.Create(ctx, name, 2<<30, d, nil); err != nil {
		return "", err
	}
	s.disks = append(s.disks, name)
	return l.disks.attach(filepath.Join(l.dir, "disks", name), "ext4", "", true)
}

// set is a replica set of three members. Its primary is the last one, the others are on virtual disks.
func (l *limits) set(ctx context.Context, s *site) error {
	var members []string
	for _, name := range []string{"second", "third", ""} {
		dir := ""
		if name != "" {
			var err error
			if dir, err = l.disk(ctx, s, name, faultfs.Device{FlushLatency: 100 * time.Microsecond}); err != nil {
				return err
			}
		}
		address, err := l.launch(s, l.mongod, dir, "--replSet", "rs0")
		if err != nil {
			return err
		}
		members = append(members, address)
	}
	return l.initiate(ctx, s, "rs0", "", members...)
}

// routed is a cluster of one shard behind a router.
func (l *limits) routed(ctx context.Context, s *site) error {
	config, err := l.launch(s, l.mongod, "", "--replSet", "config", "--configsvr")
	if err != nil {
		return err
	}
	shard, err := l.launch(s, l.mongod, "", "--replSet", "rs0", "--shardsvr")
	if err != nil {
		return err
	}
	if err := l.initiate(ctx, s, "config", "configsvr", config); err != nil {
		return err
	}
	if err := l.initiate(ctx, s, "rs0", "", shard); err != nil {
		return err
	}
	router, err := l.launch(s, filepath.Join(filepath.Dir(l.mongod), "mongos"), "", "--configdb", "config/"+config)
	if err != nil {
		return err
	}
	if s.client, err = connected("mongodb://" + router); err != nil {
		return err
	}
	s.address, s.uri = router, "mongodb://"+router+"/"
	return s.admin(ctx, bson.D{{Key: "addShard", Value: "rs0/" + shard}})
}

func connected(uri string) (*mongo.Client, error) {
	return mongo.Connect(options.Client().ApplyURI(uri).SetServerSelectionTimeout(startAtMost))
}

// initiate makes servers a replica set whose primary is the last one, and waits for it.
func (l *limits) initiate(ctx context.Context, s *site, name, role string, addresses ...string) error {
	ctx, cancel := context.WithTimeout(ctx, startAtMost)
	defer cancel()
	last := addresses[len(addresses)-1]
	one, err := connected("mongodb://" + last + "/?directConnection=true")
	if err != nil {
		return err
	}
	defer func() { _ = one.Disconnect(ctx) }() // it has done its work
	var members bson.A
	for i, a := range addresses {
		priority := 0
		if a == last {
			priority = 1
		}
		members = append(members, bson.D{{Key: "_id", Value: i}, {Key: "host", Value: a}, {Key: "priority", Value: priority}})
	}
	set := bson.D{{Key: "_id", Value: name}, {Key: "members", Value: members}}
	if role != "" {
		set = append(set, bson.E{Key: role, Value: true})
	}
	if err := one.Database("admin").RunCommand(ctx, bson.D{{Key: "replSetInitiate", Value: set}}).Err(); err != nil {
		return err
	}
	s.address, s.uri = last, "mongodb://"+last+"/?replicaSet="+name
	if s.client, err = connected(s.uri); err != nil {
		return err
	}
	return s.client.Ping(ctx, nil)
}

// stop ends all servers and removes their disks.
func (l *limits) stop() error {
	for _, s := range l.sites {
		for _, cmd := range s.servers {
			_ = cmd.Process.Signal(syscall.SIGKILL)
			_ = cmd.Wait() // killed, and its data are removed
		}
	}
	unmount(l.dir)
	return l.disks.stop()
}
