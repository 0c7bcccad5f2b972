// Package vsphere breaks members that are virtual machines of a vCenter, by its API.
package vsphere

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/internal/visible"
	"github.com/plimsoll-bench/plimsoll/spec"
)

// The environment variables of the credentials.
const (
	envUser     = "VSPHERE_USER"
	envPassword = "VSPHERE_PASSWORD"
)

// credentials are those of the environment, else those of the file.
func credentials(s spec.VSphere, getenv func(string) string) (*url.Userinfo, error) {
	user, password := getenv(envUser), getenv(envPassword)
	if s.Credentials != "" {
		text, err := safeopen.ReadSecret(s.Credentials)
		if err != nil {
			return nil, fmt.Errorf("cannot read the credentials of vCenter: %w. Or set %s and %s", err, envUser, envPassword)
		}
		lines := strings.Split(text, "\n")
		if len(lines) < 2 {
			return nil, fmt.Errorf("the credentials %s have no second line. Write the user in the first line, and the password in the second",
				s.Credentials)
		}
		user, password = cmp.Or(user, lines[0]), cmp.Or(password, lines[1])
	}
	if user == "" || password == "" {
		return nil, fmt.Errorf("there are no credentials for vCenter. Set %s and %s, or write vsphere.credentials: FILE", envUser, envPassword)
	}
	return url.UserPassword(user, password), nil
}

// client is a session with a vCenter.
type client struct {
	spec spec.VSphere
	user *url.Userinfo
	vim  *vim25.Client
	*session.Manager
}

// connect opens a session.
func connect(ctx context.Context, s spec.VSphere, getenv func(string) string) (*client, error) {
	c := &client{spec: s}
	var err error
	if c.user, err = credentials(s, getenv); err != nil {
		return nil, err
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, err
	}
	transport := soap.NewClient(u, false)
	if s.CA != "" {
		if err := transport.SetRootCAs(s.CA); err != nil {
			return nil, fmt.Errorf("vsphere.ca: %w. Write a file with the certificates of the authority in PEM", err)
		}
	}
	if c.vim, err = vim25.NewClient(ctx, transport); err != nil {
		return nil, c.explain(ctx, "connect", err)
	}
	c.Manager = session.NewManager(c.vim)
	c.vim.RoundTripper = &again{c.vim.RoundTripper, c}
	return c, c.explain(ctx, "log in", c.Login(ctx, c.user))
}

// again sends a request once more that vCenter refused because the session had ended. It limits requests that have no
// limit: govmomi ends its waits with them.
type again struct {
	soap.RoundTripper
	client *client
}

func (a *again) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	if ctx.Done() == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, closeWithin)
		defer cancel()
	}
	err := a.RoundTripper.RoundTrip(ctx, req, res)
	switch req.(type) {
	case *methods.LoginBody, *methods.LogoutBody:
		return err
	}
	if !fault.Is(err, &types.NotAuthenticated{}) {
		return err
	}
	a.client.close(ctx) // vCenter refuses a second login in a session
	if err := a.client.Login(ctx, a.client.user); err != nil {
		return err
	}
	reflect.ValueOf(res).Elem().SetZero() // it has the fault
	return a.RoundTripper.RoundTrip(ctx, req, res)
}

// ready logs in again if the session has ended.
func (c *client) ready(ctx context.Context) error {
	active, err := c.UserSession(ctx)
	if err == nil && active == nil {
		err = c.Login(ctx, c.user)
	}
	return c.explain(ctx, "log in", err)
}

// close ends the session. It is not an error if vCenter has ended it.
func (c *client) close(ctx context.Context) { _ = c.Logout(ctx) }

// host is the host of vCenter, as in errors.
func (c *client) host() string {
	u, err := url.Parse(c.spec.URL)
	if err != nil {
		return c.spec.URL
	}
	return u.Host
}

// problem is an error of vCenter in one sentence with the next step.
type problem struct {
	text string
	err  error
}

func (p *problem) Error() string { return p.text }
func (p *problem) Unwrap() error { return p.err }

// explain says in one sentence what failed, and in another what to do. A nil error stays nil.
func (c *client) explain(ctx context.Context, what string, err error) error {
	var known *problem
	if err == nil || errors.As(err, &known) {
		return err
	}
	said := visible.Bounded(visible.Line(err.Error()), 300)
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var permission *types.NoPermission
	_, byPermission := fault.As(err, &permission)
	var next string
	switch {
	case errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
		said, next = "it did not answer in time", "Look for the task in the vSphere client, or raise vsphere.timeout"
	case errors.As(err, &unknown):
		next = "Write the certificates of its authority into a file (https://" + c.host() + "/certs/download.zip), and set vsphere.ca"
	case errors.As(err, &name):
		next = "Use the name of its certificate in vsphere.url"
	case fault.Is(err, &types.InvalidLogin{}):
		said, next = "it refused the user or the password", "Correct "+envUser+" and "+envPassword+", or vsphere.credentials"
	case fault.Is(err, &types.NotAuthenticated{}):
		said, next = "the session has ended", "Try again"
	case byPermission:
		said, next = "the user lacks the privilege "+permission.PrivilegeId, "Give the role of the user this privilege on the object"
	case isFault(err):
		next = "See the recent tasks in the vSphere client, then try again"
	default:
		next = "Is it reachable? Check vsphere.url, and with: govc about"
	}
	return &problem{fmt.Sprintf("vCenter %s: cannot %s: %s. %s", c.host(), what, strings.TrimRight(said, ". "), next), err}
}

// isFault says whether vCenter answered with a fault.
func isFault(err error) bool {
	var failed task.Error
	return soap.IsSoapFault(err) || soap.IsVimFault(err) || errors.As(err, &failed)
}

// faultName is the type of the fault of a task, such as InvalidPowerState.
func faultName(err error) string {
	var failed task.Error
	if errors.As(err, &failed) && failed.LocalizedMethodFault != nil && failed.Fault() != nil {
		return reflect.TypeOf(failed.Fault()).Elem().Name()
	}
	return ""
}

// await waits for the end of a task.
func (c *client) await(ctx context.Context, what string, t *object.Task, err error) error {
	if err == nil {
		err = t.Wait(ctx)
		if err == nil {
			err = context.Cause(ctx) // govmomi returns no error if ctx was canceled
		}
	}
	if name := faultName(err); name != "" {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return c.explain(ctx, what, err)
}
