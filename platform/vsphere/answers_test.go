package vsphere

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/plimsoll-bench/plimsoll/fault"
	"github.com/plimsoll-bench/plimsoll/platform"
	"github.com/plimsoll-bench/plimsoll/platform/vsphere/vspheretest"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// answer is how vCenter answers a call badly. It reports whether it has answered.
type answer func(c *center, w http.ResponseWriter, r *http.Request, call string) bool

// answers are the bad answers. A late one is good otherwise.
var answers = map[string]answer{
	"late": func(*center, http.ResponseWriter, *http.Request, string) bool {
		time.Sleep(10 * time.Millisecond)
		return false
	},
	"never": func(_ *center, _ http.ResponseWriter, r *http.Request, _ string) bool {
		<-r.Context().Done()
		return true
	},
	"closed": func(_ *center, w http.ResponseWriter, _ *http.Request, _ string) bool {
		if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_ = conn.Close()
		}
		return true
	},
	"a page": func(_ *center, w http.ResponseWriter, _ *http.Request, _ string) bool {
		_, _ = io.WriteString(w, "<html>sign in</html>")
		return true
	},
	"502": func(_ *center, w http.ResponseWriter, _ *http.Request, _ string) bool {
		w.WriteHeader(http.StatusBadGateway)
		return true
	},
	"logged out": func(_ *center, w http.ResponseWriter, _ *http.Request, call string) bool {
		return refuse(w, call, http.StatusUnauthorized, "NotAuthenticated",
			`<object type="Folder">group-d1</object><privilegeId>System.View</privilegeId>`)
	},
	"object gone": func(_ *center, w http.ResponseWriter, _ *http.Request, call string) bool {
		return refuse(w, call, http.StatusNotFound, "ManagedObjectNotFound",
			`<obj type="VirtualMachine">vm-gone</obj>`)
	},
	"task fails": func(c *center, w http.ResponseWriter, _ *http.Request, call string) bool {
		if !strings.HasSuffix(call, "_Task") {
			return refuse(w, call, http.StatusInternalServerError, "RuntimeFault", "")
		}
		of := c.Model.Map().Any("VirtualMachine").(*simulator.VirtualMachine)
		task := simulator.CreateTask(of, "fails", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
			return nil, &types.InsufficientResourcesFault{}
		}).Run(c.Model.Service.Context)
		envelope(w,
			fmt.Sprintf(`<%sResponse xmlns="urn:vim25"><returnval type="Task">%s</returnval></%[1]sResponse>`,
				call, task.Value))
		return true
	},
}

// refuse answers with a fault, or with a status if the call is one of REST.
func refuse(w http.ResponseWriter, call string, status int, fault, details string) bool {
	if strings.Contains(call, " ") {
		w.WriteHeader(status)
		return true
	}
	w.WriteHeader(http.StatusInternalServerError)
	envelope(w,
		fmt.Sprintf(`<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>%s</faultstring><detail>`+
			`<%[1]sFault xmlns="urn:vim25" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="%[1]s">%s</%[1]sFault>`+
			`</detail></soapenv:Fault>`, fault, details))
	return true
}

func envelope(w http.ResponseWriter, body string) {
	_, _ = io.WriteString(w,
		`<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/">`+
			`<soapenv:Body>`+body+`</soapenv:Body></soapenv:Envelope>`)
}

var (
	soapCall = regexp.MustCompile(`<(?:\w+:)?Body[^>]*><(?:\w+:)?(\w+)`)
	restID   = regexp.MustCompile(`urn:[^/?"]+`)
)

// callOf names a call: the method of SOAP, or the method and path of REST.
func callOf(r *http.Request, body string) string {
	if m := soapCall.FindStringSubmatch(body); m != nil {
		return m[1]
	}
	return r.Method + " " + restID.ReplaceAllString(r.URL.Path, "ID")
}

// operation is what Plimsoll does by several calls. prepare comes before it, and undo brings back the state before
// that.
type operation struct {
	name              string
	prepare, do, undo func(ctx context.Context) error
}

// operations are all that Plimsoll does with vCenter. Each action is injected, seen and reverted.
func (c *center) operations(t *testing.T, b *Backend, s *Storage) []operation {
	t.Helper()
	nothing := func(context.Context) error { return nil }
	apply := func(ctx context.Context) error { _, err := s.Apply(ctx, vspheretest.Other); return err }
	heal := func(ctx context.Context, undo []byte) error {
		step, err := b.Heal(undo, func(s string) string { return s })
		if err == nil {
			_, err = step.Run(ctx)
		}
		return err
	}
	list := []operation{
		{"open", nothing, func(ctx context.Context) error {
			o, err := Open(ctx, c.file, env)
			if err == nil {
				err = o.Close()
			}
			return err
		}, nothing},
		{"facts", nothing, func(ctx context.Context) error {
			if f := b.Facts(ctx); len(f.Problems) > 0 {
				return errors.New(f.Problems[0])
			}
			return nil
		}, nothing},
		{"apply a policy", nothing, apply, s.Restore},
		{"restore policies", apply, func(ctx context.Context) error {
			left, err := platform.Left(s.journals)
			if err != nil || len(left) != 1 {
				return fmt.Errorf("the journal has %v, %w", left, err)
			}
			return heal(ctx, left[0].Undo)
		}, s.Restore},
	}
	for _, a := range b.Actions() {
		if a.Name == fault.HostPowerOff { // the simulator wants its own hosts for virtual machines: see TestActions
			continue
		}
		f := spec.Fault{Action: spec.Action{Name: a.Name, Target: "db1"}}
		var steps platform.Steps
		inject := func(ctx context.Context) (err error) {
			if steps, err = b.Steps(ctx, f, &c.file.Members[0]); err == nil {
				_, err = steps.Inject.Run(ctx)
			}
			return err
		}
		witness := func(ctx context.Context) error {
			saw, err := steps.Witness.Run(ctx)
			if err == nil && saw.Problem != "" {
				err = errors.New(saw.Problem)
			}
			return err
		}
		revert := func(ctx context.Context) error {
			if steps.Undo == nil {
				return nil
			}
			text, err := json.Marshal(steps.Undo)
			if err != nil {
				return err
			}
			return heal(ctx, text)
		}
		list = append(list, operation{"inject " + a.Name, nothing, inject, revert},
			operation{"witness " + a.Name, inject, witness, revert})
		if a.Lasts {
			list = append(list, operation{"heal " + a.Name, inject, revert, revert})
		}
	}
	return list
}

// harmless are calls whose answer may be missing: the operation succeeds without.
var harmless = []string{"Logout", "QueryEvents", "CurrentTime", "DELETE /rest/com/vmware/cis/session",
	"QuerySyncingVsanObjectsSummary",
	"PbmCheckCompliance",
	"DestroyPropertyFilter", "CancelWaitForUpdates", "DestroyPropertyCollector"}

// Each call to vCenter is answered late, wrongly or never, in the first operation that makes it. Then the error is one
// sentence with the next step, and the operation can be undone.
func TestEveryCallAnsweredBadly(t *testing.T) {
	t.Parallel()
	c := newCenter(t, "10.0.0.7:27017", "127.0.0.1:2")
	// Many sessions are opened, and encryption costs the most of each.
	plain := httptest.NewServer(c.Handler)
	t.Cleanup(plain.Close)
	c.file.VSphere.URL, c.file.VSphere.CA = plain.URL+"/sdk", ""
	c.nameByAddressAndTag(t)
	a := c.AddArray()
	a.Takes = 1
	b, s := c.open(t), c.storage(t, filepath.Join(t.TempDir(), "journals"))
	var mu sync.Mutex
	var calls []string // of the operation
	bad, badly, first := "", answer(nil), false
	gate := func(w http.ResponseWriter, r *http.Request, body string) bool {
		call := callOf(r, body)
		mu.Lock()
		calls = append(calls, call)
		hit := call == bad
		if hit && first {
			bad = ""
		}
		how := badly
		mu.Unlock()
		return hit && how(c, w, r, call) || a.Adopt(w, r, body)
	}
	c.Gate.Store(&gate)
	// A session ends once, and what is polled is polled again. All other calls are answered badly each time.
	set := func(call, name string, how answer) {
		mu.Lock()
		defer mu.Unlock()
		calls, bad, badly, first = nil, call, how, name == "logged out" || slices.Contains(harmless, call)
	}
	var met []string // calls that met all bad answers
	try := func(o operation, ctx context.Context, call, name string, how answer) (made []string, err error) {
		set("", "", nil)
		if err := o.prepare(t.Context()); err != nil {
			t.Fatalf("%s cannot be prepared: %v", o.name, err)
		}
		set(call, name, how)
		err = o.do(ctx)
		mu.Lock()
		made = calls
		mu.Unlock()
		set("", "", nil)
		if err := o.undo(t.Context()); err != nil {
			t.Fatalf("%s cannot be undone: %v", o.name, err)
		}
		return made, err
	}
	for _, o := range c.operations(t, b, s) {
		made, err := try(o, t.Context(), "", "", nil)
		if err != nil {
			t.Fatalf("%s: %v", o.name, err)
		}
		for _, call := range made {
			if slices.Contains(met, call) {
				continue
			}
			met = append(met, call)
			for name, how := range answers {
				ctx, cancel := context.WithCancel(t.Context())
				asked := how
				if name == "never" { // the time of the operation ends when the call has arrived
					asked = func(c *center, w http.ResponseWriter, r *http.Request, call string) bool {
						cancel()
						return how(c, w, r, call)
					}
				}
				_, err := try(o, ctx, call, name, asked)
				cancel()
				c.judge(t, fmt.Sprintf("%s, %s answered %s", o.name, call, name), name, call, err)
			}
		}
	}
	if got := a.Policies(); slices.Contains(slices.Collect(maps.Values(got)), vspheretest.OtherID) {
		t.Errorf("disks have %v", got)
	}
	t.Logf("%d calls: %s", len(met), strings.Join(met, ", "))
}

// judge checks the error after a bad answer.
func (c *center) judge(t *testing.T, what, how, call string, err error) {
	t.Helper()
	switch {
	case how == "late" && err != nil:
		t.Errorf("%s: %v", what, err)
	case how == "late", err == nil && slices.Contains(harmless, call):
	case err == nil && how == "logged out": // it logs in again
	case err == nil:
		t.Errorf("%s: no error", what)
	case strings.ContainsAny(err.Error(), "\r\n") || strings.Contains(err.Error(), "geheim123"):
		t.Errorf("%s: %q", what, err)
	case !nextStep.MatchString(err.Error()):
		t.Errorf("%s: the error %q has no next step", what, err)
	}
}

// nextStep is the form of an error with the next step.
var nextStep = regexp.MustCompile(`(cannot|was applied, but) .+\. [A-Z].+`)

// tag attaches the tag plimsoll/NAME to a virtual machine.
func (c *center) tag(t *testing.T, name string, vm types.ManagedObjectReference) {
	t.Helper()
	v, err := connect(t.Context(), *c.file.VSphere, env)
	if err != nil {
		t.Fatal(err)
	}
	r := rest.NewClient(v.vim)
	if err := r.Login(t.Context(), v.user); err != nil {
		t.Fatal(err)
	}
	m := tags.NewManager(r)
	category, err := m.CreateCategory(t.Context(), &tags.Category{Name: "plimsoll", Cardinality: "SINGLE"})
	if err != nil {
		t.Fatal(err)
	}
	id, err := m.CreateTag(t.Context(), &tags.Tag{Name: name, CategoryID: category})
	if err == nil {
		err = m.AttachTag(t.Context(), id, vm)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// nameByAddressAndTag makes the first member one that is found by its address, and the second one by its tag.
func (c *center) nameByAddressAndTag(t *testing.T) {
	t.Helper()
	vm := c.VM(t, "DC0_C0_RP0_VM0")
	c.Model.Service.Context.WithLock(vm, func() { vm.Guest.IpAddress = "10.0.0.7" })
	c.file.Members[0].VM = ""
	c.tag(t, "db2", c.VM(t, "DC0_C0_RP0_VM1").Reference())
	c.file.Members[1].VM = "tag:plimsoll/db2"
}
