package vsphere

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pbmmethods "github.com/vmware/govmomi/pbm/methods"
	pbmsim "github.com/vmware/govmomi/pbm/simulator"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
	"github.com/vmware/govmomi/vsan"
	vsanmethods "github.com/vmware/govmomi/vsan/methods"
	vsantypes "github.com/vmware/govmomi/vsan/types"

	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The policies that the simulator has.
const (
	standard   = "vSAN Default Storage Policy"
	standardID = "aa6d5a82-1c88-45da-85d3-3d74b91a5bad"
	other      = "VVol No Requirements Policy"
	otherID    = "f4e5bade-15a2-4805-bf8e-52318c4ce443"
)

// array adds to the simulator what it lacks: disks have policies, comply with them after some queries, and are copied
// by vSAN meanwhile.
type array struct {
	mu       sync.Mutex
	policies map[string]string // by the keys of disks
	changed  int               // times that a disk got another policy
	rebuild  int               // queries until disks comply
	takes    int               // queries that a rebuild takes
}

// profiles are the storage policies with the disks that have them.
type profiles struct {
	*pbmsim.ProfileManager
	array *array
}

func (p *profiles) PbmQueryAssociatedProfiles(req *pbmtypes.PbmQueryAssociatedProfiles) soap.HasFault {
	p.array.mu.Lock()
	defer p.array.mu.Unlock()
	res := &pbmtypes.PbmQueryAssociatedProfilesResponse{}
	for _, e := range req.Entities {
		res.Returnval = append(res.Returnval, pbmtypes.PbmQueryProfileResult{Object: e,
			ProfileId: []pbmtypes.PbmProfileId{{UniqueId: p.array.policies[e.Key]}}})
	}
	return &pbmmethods.PbmQueryAssociatedProfilesBody{Res: res}
}

// compliance answers whether disks comply.
type compliance struct{ *array }

func (c *compliance) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "PbmComplianceManager", Value: "complianceManager"}
}

func (c *compliance) check(entities []pbmtypes.PbmServerObjectRef) (list []pbmtypes.PbmComplianceResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	status := pbmtypes.PbmComplianceStatusCompliant
	if c.rebuild > 0 {
		status = pbmtypes.PbmComplianceStatusNonCompliant
	}
	for _, e := range entities {
		list = append(list, pbmtypes.PbmComplianceResult{Entity: e, ComplianceStatus: string(status)})
	}
	return list
}

func (c *compliance) PbmCheckCompliance(req *pbmtypes.PbmCheckCompliance) soap.HasFault {
	return &pbmmethods.PbmCheckComplianceBody{Res: &pbmtypes.PbmCheckComplianceResponse{Returnval: c.check(req.Entities)}}
}

func (c *compliance) PbmFetchComplianceResult(req *pbmtypes.PbmFetchComplianceResult) soap.HasFault {
	res := &pbmtypes.PbmFetchComplianceResultResponse{Returnval: c.check(req.Entities)}
	return &pbmmethods.PbmFetchComplianceResultBody{Res: res}
}

// copier answers what vSAN copies.
type copier struct{ *array }

func (c *copier) Reference() types.ManagedObjectReference {
	return vsan.VsanQueryObjectIdentitiesInstance
}

func (c *copier) QuerySyncingVsanObjectsSummary(*vsantypes.QuerySyncingVsanObjectsSummary) soap.HasFault {
	c.mu.Lock()
	defer c.mu.Unlock()
	res := &vsantypes.QuerySyncingVsanObjectsSummaryResponse{}
	if c.rebuild > 0 {
		c.rebuild--
		res.Returnval.TotalObjectsToSync, res.Returnval.TotalBytesToSync = int64(c.rebuild), int64(c.rebuild)<<30
	}
	return &vsanmethods.QuerySyncingVsanObjectsSummaryBody{Res: res}
}

// addArray makes the cluster one with vSAN, whose disks have the standard policy.
func (c *center) addArray() *array {
	a := &array{policies: map[string]string{}, takes: 3}
	storage := pbmsim.New()
	manager := storage.Get(types.ManagedObjectReference{Type: "PbmProfileProfileManager",
		Value: "ProfileManager"}).(*pbmsim.ProfileManager)
	storage.Put(&profiles{manager, a})
	storage.Put(&compliance{a})
	c.model.Service.RegisterSDK(storage)
	copies := simulator.NewRegistry()
	copies.Namespace, copies.Path = vsan.Namespace, vsan.Path
	copies.Put(&copier{a})
	c.model.Service.RegisterSDK(copies)
	for _, e := range c.model.Map().All("VirtualMachine") {
		a.policies[e.Reference().Value+":"+"204"] = standardID
	}
	cluster := c.model.Map().Any("ClusterComputeResource").(*simulator.ClusterComputeResource)
	on := true
	cluster.ConfigurationEx.(*types.ClusterConfigInfoEx).VsanConfigInfo = &types.VsanClusterConfigInfo{Enabled: &on}
	gate := a.adopt
	c.gate.Store(&gate)
	return a
}

// adopt reads the policies of a request that reconfigures a virtual machine, which the simulator ignores.
func (a *array) adopt(_ http.ResponseWriter, _ *http.Request, body string) bool {
	var envelope struct {
		Body struct {
			Request *types.ReconfigVMRequestType `xml:"ReconfigVM_Task"`
		}
	}
	d := xml.NewDecoder(strings.NewReader(body))
	d.TypeFunc = types.TypeFunc()
	if d.Decode(&envelope) != nil || envelope.Body.Request == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, change := range envelope.Body.Request.Spec.DeviceChange {
		disk := change.GetVirtualDeviceConfigSpec()
		for _, p := range disk.Profile {
			key := fmt.Sprintf("%s:%d", envelope.Body.Request.This.Value, disk.Device.GetVirtualDevice().Key)
			switch p := p.(type) {
			case *types.VirtualMachineDefinedProfileSpec:
				a.policies[key] = p.ProfileId
			case *types.VirtualMachineEmptyProfileSpec:
				delete(a.policies, key)
			}
			a.changed++
			a.rebuild = a.takes
		}
	}
	return false
}

func (a *array) now() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.policies)
}

func (c *center) storage(t *testing.T, journals string) *Storage {
	t.Helper()
	s, err := OpenStorage(t.Context(), "mongodb://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3", journals, c.file, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// A policy is applied to all disks, whose compliance and copies are awaited. At the end, they have what they had
// before.
func TestStoragePolicies(t *testing.T) {
	c := newCenter(t, "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3")
	a := c.addArray()
	before := a.now()
	journals := filepath.Join(t.TempDir(), "journals")
	s := c.storage(t, journals)
	if f := s.Facts(t.Context()); len(f.Problems) > 0 || len(f.Machines) != 3 ||
		!slices.Equal(f.Machines[0].Disks[0].Policies, []string{standard}) ||
		f.Machines[0].Disks[0].Compliance != "compliant" || !f.Clusters[0].VSAN {
		t.Errorf("the facts are %+v", f)
	}
	change, err := s.Apply(t.Context(), other)
	if err != nil || change.Changed != 3 || change.Disks != 3 || change.Compliance != "compliant" ||
		change.Resync == nil ||
		change.Resync.Objects != 2 || change.Resync.Bytes != 2<<30 || change.Resync.Seconds <= 0 ||
		change.Seconds < change.Resync.Seconds {
		t.Errorf("%+v, %+v, %v", change, change.Resync, err)
	}
	for disk, policy := range a.now() {
		if policy != otherID {
			t.Errorf("disk %s has %s", disk, policy)
		}
	}
	if again, err := s.Apply(t.Context(), other); err != nil || again.Changed != 0 || a.changed != 3 {
		t.Errorf("the same policy again: %+v, %v", again, err)
	}
	if back, err := s.Apply(t.Context(), standard); err != nil || back.Changed != 3 ||
		!slices.Contains(back.Rules, "VSAN.stripeWidth = 1") {
		t.Errorf("back: %+v, %v", back, err)
	}
	if _, err := s.Apply(t.Context(), "nope"); err == nil || !strings.Contains(err.Error(), "It has: ") ||
		!strings.Contains(err.Error(), standard) {
		t.Errorf("an unknown policy: %v", err)
	}
	if _, err := s.Apply(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if err := s.Restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := a.now(); !maps.Equal(got, before) {
		t.Errorf("the disks have %v, want %v", got, before)
	}
	if left, err := platform.Left(journals); err != nil || len(left) > 0 {
		t.Errorf("the journal has %+v, %v", left, err)
	}
}

// A study that was killed has left the first policies in the journal. Nothing is changed again before they are
// restored.
func TestStoragePoliciesAfterTheEnd(t *testing.T) {
	c := newCenter(t, "127.0.0.1:1")
	a := c.addArray()
	before := a.now()
	journals := filepath.Join(t.TempDir(), "journals")
	s := c.storage(t, journals)
	if _, err := s.Apply(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "plimsoll platform heal") {
		t.Errorf("the end says %v", err)
	}
	if _, err := c.storage(t, journals).Apply(t.Context(), standard); err == nil ||
		!strings.Contains(err.Error(), "plimsoll platform heal") {
		t.Errorf("the next study says %v", err)
	}
	var said []string
	err := platform.HealAll(t.Context(), journals, platform.Healers{Kind: Healer{os.Getenv}},
		func(text string) { said = append(said, text) })
	if err != nil || len(said) != 2 || !strings.Contains(said[0],
		"disk 204 of /DC0/vm/DC0_C0_RP0_VM0 to "+standardID) {
		t.Errorf("%q, %v", said, err)
	}
	if got := a.now(); !maps.Equal(got, before) {
		t.Errorf("the disks have %v, want %v", got, before)
	}
}

// Disks that never comply end the wait at its limit, or when the study is interrupted.
func TestStoragePoliciesNeverComply(t *testing.T) {
	c := newCenter(t, "127.0.0.1:1")
	c.file.VSphere.Rebuild = spec.Duration(300 * time.Millisecond)
	a := c.addArray()
	s := c.storage(t, filepath.Join(t.TempDir(), "journals"))
	never := func(w http.ResponseWriter, r *http.Request, body string) bool {
		a.adopt(w, r, body)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.rebuild = max(a.rebuild, 3)
		return false
	}
	c.gate.Store(&never)
	_, err := s.Apply(t.Context(), other)
	if err == nil || !strings.Contains(err.Error(), "raise vsphere.rebuild") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Apply(ctx, standard); err == nil {
		t.Error("an interrupted change succeeded")
	}
	if err := s.Restore(t.Context()); err != nil || a.now()["vm-57:204"] == otherID {
		t.Errorf("%v, the disks have %v", err, a.now())
	}
}
