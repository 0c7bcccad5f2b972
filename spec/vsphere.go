package spec

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// VSphere is a vCenter. The user and the password are not in it: they are in the environment variables VSPHERE_USER and
// VSPHERE_PASSWORD, or in the file of Credentials.
type VSphere struct {
	// URL is the address of vCenter: a host, or https://HOST[:PORT]/sdk.
	URL string `json:"url" yaml:"url"`
	// Credentials is a file with the user in the first line and the password in the second. Only its owner may read it.
	Credentials string `json:"credentials,omitempty" yaml:"credentials,omitempty"`
	// CA is a file with the certificates (PEM) that sign the certificate of vCenter; absent, those of the system.
	CA string `json:"ca,omitempty" yaml:"ca,omitempty"`
	// Datacenter is the datacenter of the virtual machines; absent if there is only one.
	Datacenter string `json:"datacenter,omitempty" yaml:"datacenter,omitempty"`
	// Rebuild bounds the wait until all disks comply with a storage policy that a study applied; absent, 12h.
	Rebuild Duration `json:"rebuild,omitempty" yaml:"rebuild,omitempty"`
	// Timeout bounds each step of a fault, such as entering maintenance mode; absent, 5m.
	Timeout Duration `json:"timeout,omitempty" yaml:"timeout,omitempty"`
}

const (
	longestStep    = time.Hour
	longestRebuild = 7 * 24 * time.Hour
)

// complete fills in the defaults, and returns the first mistake.
func (v *VSphere) complete() error {
	text := strings.TrimSpace(v.URL)
	if text != "" && !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	v.Timeout = cmp.Or(v.Timeout, Duration(5*time.Minute))
	v.Rebuild = cmp.Or(v.Rebuild, Duration(12*time.Hour))
	switch {
	case text == "":
		return errors.New("url: there is none. Write the host of vCenter, such as vcenter.example.com")
	case err != nil || u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("url: %q is not of the form HOST or https://HOST/sdk", v.URL)
	case u.User != nil:
		return errors.New("url: it has a user. Set VSPHERE_USER and VSPHERE_PASSWORD, or write a file for credentials")
	case v.Timeout < 0 || v.Timeout.Std() > longestStep:
		return fmt.Errorf("timeout: %v is not between 0 and %v", v.Timeout, longestStep)
	case v.Rebuild < 0 || v.Rebuild.Std() > longestRebuild:
		return fmt.Errorf("rebuild: %v is not between 0 and %v", v.Rebuild, longestRebuild)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/sdk"
	}
	v.URL = u.String()
	return nil
}
