package vsphere

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/pbm"
	pbmmethods "github.com/vmware/govmomi/pbm/methods"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vsan"
	vsanmethods "github.com/vmware/govmomi/vsan/methods"
	vsantypes "github.com/vmware/govmomi/vsan/types"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// storagePolicy is the change of storage policies in journals. It is no action of drills.
const storagePolicy = "storage-policy"

// diskPolicy is a disk and its storage policy. Policy is the identifier, empty for none.
type diskPolicy struct {
	VM     types.ManagedObjectReference `json:"vm"`
	VMPath string                       `json:"vm_path"`
	Key    int32                        `json:"key"`
	Policy string                       `json:"policy"`
}

// Storage changes the storage policy of all disks of the members, between the trials of a study.
type Storage struct {
	backend  *Backend
	platform *platform.Deployment
	members  []string
	journals string
	revert   func(context.Context) error // nil before the first change
}

// OpenStorage connects to the vCenter of a platform file, as [Open] does. uri is the address of the deployment. Nothing
// is changed.
func OpenStorage(ctx context.Context, uri, journals string, file spec.Platform,
	getenv func(string) string) (*Storage, error) {
	if file.VSphere == nil {
		return nil, errors.New("the platform file has no vCenter. Add vsphere: {url: HOST}")
	}
	b, err := Open(ctx, file, getenv)
	if err != nil {
		return nil, err
	}
	d, err := platform.NewDeployment(platform.DeploymentOptions{URI: uri, Members: file.Members, Journals: journals,
		Backends: []platform.Backend{b}})
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	s := &Storage{backend: b, platform: d, journals: journals}
	for _, m := range file.Members {
		s.members = append(s.members, m.Name)
	}
	return s, nil
}

// Facts are what vCenter reports of the machines of the members.
func (s *Storage) Facts(ctx context.Context) *record.VSphere { return s.backend.Facts(ctx) }

// Apply applies a storage policy to all disks of the members. It returns when vCenter says that they comply. Before the
// first change, the policies that the disks have are written to the journal.
func (s *Storage) Apply(ctx context.Context, policy string) (record.StorageChange, error) {
	change := record.StorageChange{Policy: policy}
	c, began := s.backend.client, time.Now()
	id, disks, err := s.prepare(ctx, &change)
	if err != nil {
		return change, err
	}
	if s.revert == nil {
		if err := s.keep(disks); err != nil {
			return change, fmt.Errorf("no storage policy was changed: %w", err)
		}
	}
	wanted := slices.Clone(disks)
	for i := range wanted {
		if wanted[i].Policy != id {
			change.Changed++
		}
		wanted[i].Policy = id
	}
	if change.Changed > 0 {
		if err := c.setPolicies(ctx, wanted); err != nil {
			return change, err
		}
	}
	err = s.comply(ctx, id, wanted, began, &change)
	change.Seconds = time.Since(began).Seconds()
	return change, err
}

// prepare finds the policy and the disks with the policies that they have. It changes nothing.
func (s *Storage) prepare(ctx context.Context, change *record.StorageChange) (id string, disks []diskPolicy,
	err error) {
	c := s.backend.client
	ctx, cancel := context.WithTimeout(ctx, c.spec.Timeout.Std())
	defer cancel()
	p, err := c.policies(ctx)
	if err != nil {
		return "", nil, err
	}
	if id, change.Rules, err = c.policy(ctx, p, change.Policy); err != nil {
		return "", nil, err
	}
	for _, name := range s.members {
		found, err := c.disksOf(ctx, s.backend.vms[name])
		if err != nil {
			return "", nil, err
		}
		disks = append(disks, found...)
	}
	if change.Disks = len(disks); change.Disks == 0 {
		return "", nil, errors.New("the virtual machines of the members have no disk")
	}
	return id, disks, c.readPolicies(ctx, p, disks)
}

// policies opens the storage policies. The session of vCenter is that of the client.
func (c *client) policies(ctx context.Context) (*pbm.Client, error) {
	if err := c.ready(ctx); err != nil {
		return nil, err
	}
	p, err := pbm.NewClient(ctx, c.vim)
	return p, c.explain(ctx, "open the storage policies", err)
}

// policy finds a storage policy by its name, with the capabilities that it requires.
func (c *client) policy(ctx context.Context, p *pbm.Client, name string) (id string, rules []string, err error) {
	ids, err := p.QueryProfile(ctx,
		pbmtypes.PbmProfileResourceType{ResourceType: string(pbmtypes.PbmProfileResourceTypeEnumSTORAGE)},
		string(pbmtypes.PbmProfileCategoryEnumREQUIREMENT))
	if err != nil {
		return "", nil, c.explain(ctx, "list the storage policies", err)
	}
	profiles, err := p.RetrieveContent(ctx, ids)
	if err != nil {
		return "", nil, c.explain(ctx, "read the storage policies", err)
	}
	var names []string
	for _, profile := range profiles {
		of := profile.GetPbmProfile()
		if of.Name == name {
			return of.ProfileId.UniqueId, rulesOf(profile), nil
		}
		names = append(names, of.Name)
	}
	slices.Sort(names)
	return "", nil, fmt.Errorf("vCenter %s has no storage policy %q. It has: %s", c.host(), name,
		strings.Join(names, ", "))
}

// rulesOf are the capabilities that a storage policy requires.
func rulesOf(profile pbmtypes.BasePbmProfile) (rules []string) {
	p, ok := profile.(*pbmtypes.PbmCapabilityProfile)
	if !ok {
		return nil
	}
	sets, ok := p.Constraints.(*pbmtypes.PbmCapabilitySubProfileConstraints)
	if !ok {
		return nil
	}
	for _, set := range sets.SubProfiles {
		for _, capability := range set.Capability {
			for _, constraint := range capability.Constraint {
				for _, property := range constraint.PropertyInstance {
					rules = append(rules, fmt.Sprintf("%s.%s = %v", capability.Id.Namespace, property.Id,
						property.Value))
				}
			}
		}
	}
	slices.Sort(rules)
	return rules
}

// disksOf are the disks of a virtual machine, without their policies.
func (c *client) disksOf(ctx context.Context, vm *object.VirtualMachine) (disks []diskPolicy, err error) {
	m, err := c.look(ctx, vm)
	if err != nil {
		return nil, err
	}
	devices, err := vm.Device(ctx)
	if err != nil {
		return nil, c.explain(ctx, "read the disks of "+m.Path, err)
	}
	for _, d := range devices.SelectByType((*types.VirtualDisk)(nil)) {
		disks = append(disks, diskPolicy{VM: vm.Reference(), VMPath: m.Path, Key: d.GetVirtualDevice().Key})
	}
	return disks, nil
}

// entity is a disk as storage policies name it.
func (c *client) entity(d diskPolicy) pbmtypes.PbmServerObjectRef {
	return pbmtypes.PbmServerObjectRef{ObjectType: string(pbmtypes.PbmObjectTypeVirtualDiskId),
		Key: fmt.Sprintf("%s:%d", d.VM.Value, d.Key), ServerUuid: c.vim.ServiceContent.About.InstanceUuid}
}

// readPolicies reads the storage policy of each disk.
func (c *client) readPolicies(ctx context.Context, p *pbm.Client, disks []diskPolicy) error {
	var entities []pbmtypes.PbmServerObjectRef
	for _, d := range disks {
		entities = append(entities, c.entity(d))
	}
	associated, err := p.QueryAssociatedProfiles(ctx, entities)
	if err != nil {
		return c.explain(ctx, "read the storage policies of the disks", err)
	}
	for _, a := range associated {
		for i, e := range entities {
			if e.Key == a.Object.Key && len(a.ProfileId) > 0 {
				disks[i].Policy = a.ProfileId[0].UniqueId
			}
		}
	}
	return nil
}

// keep writes the policies of the disks to the journal.
func (s *Storage) keep(disks []diskPolicy) (err error) {
	left, err := platform.Left(s.journals)
	if err != nil {
		return err
	}
	for _, e := range left {
		if e.Kind == Kind && e.Fault == storagePolicy && e.Holder == 0 {
			return errors.New("a study that was killed has changed storage policies and not reverted them. Run: plimsoll platform heal")
		}
	}
	s.revert, err = s.platform.Keep(platform.Entry{Fault: storagePolicy, Member: strings.Join(s.members, ", "),
		Kind:    Kind,
		Timeout: s.backend.client.spec.Timeout.Std()}, undo{VSphere: s.backend.client.spec,
		Action: storagePolicy, Disks: disks}, s.backend)
	return err
}

// setPolicies gives each disk its policy, one virtual machine after the other. It returns when vCenter has accepted
// them; the disks are rebuilt after that.
func (c *client) setPolicies(ctx context.Context, disks []diskPolicy) error {
	for len(disks) > 0 {
		vm, path := disks[0].VM, disks[0].VMPath
		n := 0
		for n < len(disks) && disks[n].VM == vm {
			n++
		}
		if err := c.setPolicy(ctx, vm, path, disks[:n]); err != nil {
			return err
		}
		disks = disks[n:]
	}
	return nil
}

func (c *client) setPolicy(ctx context.Context, ref types.ManagedObjectReference, path string,
	disks []diskPolicy) error {
	ctx, cancel := context.WithTimeout(ctx, c.spec.Timeout.Std())
	defer cancel()
	what := "change the storage policy of the disks of " + path
	vm := object.NewVirtualMachine(c.vim, ref)
	devices, err := vm.Device(ctx)
	if err != nil {
		return c.explain(ctx, what, err)
	}
	var changes []types.BaseVirtualDeviceConfigSpec
	for _, d := range disks {
		device := devices.FindByKey(d.Key)
		if device == nil {
			return fmt.Errorf("cannot %s: the disk with the key %d no longer exists. Set the policies of the other disks in the vSphere client",
				what, d.Key)
		}
		var profile types.BaseVirtualMachineProfileSpec = &types.VirtualMachineEmptyProfileSpec{}
		if d.Policy != "" {
			profile = &types.VirtualMachineDefinedProfileSpec{ProfileId: d.Policy}
		}
		changes = append(changes, &types.VirtualDeviceConfigSpec{Device: device,
			Operation: types.VirtualDeviceConfigSpecOperationEdit,
			Profile:   []types.BaseVirtualMachineProfileSpec{profile}})
	}
	t, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{DeviceChange: changes})
	return c.await(ctx, what, t, err)
}

// The pause between two queries for the compliance grows, because a rebuild takes seconds to hours.
const (
	firstPoll = 100 * time.Millisecond
	lastPoll  = 10 * time.Second
)

// comply waits until all disks comply with their policy, and notes what vSAN copies meanwhile. An answer that is wrong
// or does not arrive is tolerated for the time limit of a step.
func (s *Storage) comply(ctx context.Context, policy string, disks []diskPolicy, began time.Time,
	change *record.StorageChange) error {
	c := s.backend.client
	ctx, cancel := context.WithTimeout(ctx, c.spec.Rebuild.Std())
	defer cancel()
	clusters := map[types.ManagedObjectReference]bool{}
	answered := time.Now()
	said := "vCenter did not answer"
	for pause := firstPoll; ; pause = min(2*pause, lastPoll) {
		waiting, err := c.pollCompliance(ctx, policy, disks, change)
		if err == nil {
			answered = time.Now()
			said = fmt.Sprintf("%d of %d disks did not comply", waiting, len(disks))
			c.pollResync(ctx, s.clustersOf(ctx, clusters), began, change)
		}
		done := err == nil && waiting == 0 && (change.Resync == nil || change.Resync.Seconds > 0)
		switch {
		case done:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("the storage policy %q was applied, but %s within %s. See their compliance in the vSphere client, or raise vsphere.rebuild: %w",
				change.Policy, said, figure.Duration(time.Since(began)), context.Cause(ctx))
		case err != nil && time.Since(answered) > c.spec.Timeout.Std():
			return err
		}
		_ = wait.Sleep(ctx, pause) // the next query says why
	}
}

// pollCompliance makes vCenter check the compliance, and returns how many disks do not comply.
func (c *client) pollCompliance(ctx context.Context, policy string, disks []diskPolicy,
	change *record.StorageChange) (waiting int, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.spec.Timeout.Std())
	defer cancel()
	p, err := c.policies(ctx)
	if err != nil {
		return 0, err
	}
	ask := pbmtypes.PbmCheckCompliance{This: p.ServiceContent.ComplianceManager,
		Profile: &pbmtypes.PbmProfileId{UniqueId: policy}}
	for _, d := range disks {
		ask.Entities = append(ask.Entities, c.entity(d))
	}
	res, err := pbmmethods.PbmCheckCompliance(ctx, p, &ask)
	if err != nil {
		return 0, c.explain(ctx, "check the compliance of the disks", err)
	}
	waiting, change.Compliance = len(disks), ""
	for _, r := range res.Returnval {
		switch status := r.ComplianceStatus; status {
		case string(pbmtypes.PbmComplianceStatusCompliant):
			change.Compliance = cmp.Or(change.Compliance, status)
			waiting--
		case string(pbmtypes.PbmComplianceStatusNotApplicable):
			change.Compliance = status
			waiting--
		}
	}
	return waiting, nil
}

// clustersOf finds the clusters of the members that have vSAN. HA and DRS may move a machine meanwhile, and known
// clusters stay.
func (s *Storage) clustersOf(ctx context.Context,
	known map[types.ManagedObjectReference]bool) map[types.ManagedObjectReference]bool {
	for _, vm := range s.backend.vms {
		if m, err := s.backend.client.look(ctx, vm); err == nil && m.vsan != nil {
			known[*m.vsan] = true
		}
	}
	return known
}

// objectSystem answers queries for the objects of vSAN.
var objectSystem = vsan.VsanQueryObjectIdentitiesInstance

// pollResync asks the clusters what vSAN copies now.
func (c *client) pollResync(ctx context.Context, clusters map[types.ManagedObjectReference]bool,
	began time.Time, change *record.StorageChange) {
	if len(clusters) == 0 {
		change.ResyncProblem = "no cluster of the members has vSAN"
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.spec.Timeout.Std())
	defer cancel()
	var now record.Resync
	for cluster := range clusters {
		api, err := vsan.NewClient(ctx, c.vim)
		var res *vsantypes.QuerySyncingVsanObjectsSummaryResponse
		if err == nil {
			res, err = vsanmethods.QuerySyncingVsanObjectsSummary(ctx, api,
				&vsantypes.QuerySyncingVsanObjectsSummary{This: objectSystem, Cluster: cluster})
		}
		if err != nil {
			change.Resync, change.ResyncProblem = nil, c.explain(ctx, "read the resynchronization of vSAN",
				err).Error()
			return
		}
		now.Objects += res.Returnval.TotalObjectsToSync
		now.Bytes += res.Returnval.TotalBytesToSync
	}
	r := change.Resync
	if r == nil {
		r = &record.Resync{}
		change.Resync, change.ResyncProblem = r, ""
	}
	r.Objects, r.Bytes = max(r.Objects, now.Objects), max(r.Bytes, now.Bytes)
	r.Seconds = 0
	if now.Objects == 0 {
		r.Seconds = time.Since(began).Seconds()
	}
}

// Restore applies the policies that the disks had before the first change. The disks are rebuilt after that.
func (s *Storage) Restore(ctx context.Context) error {
	if s.revert == nil {
		return nil
	}
	err := s.revert(ctx)
	if err == nil {
		s.revert = nil
	}
	return err
}

// Close ends the session. Its error names what could not be reverted.
func (s *Storage) Close() error { return s.platform.Close() }

// restorePolicies is the text of what restores the policies of disks.
func restorePolicies(u undo) string {
	var list []string
	for _, d := range u.Disks {
		list = append(list, fmt.Sprintf("disk %d of %s to %s", d.Key, d.VMPath, cmp.Or(d.Policy, "none")))
	}
	return "set the storage policy of " + strings.Join(list, ", ")
}
