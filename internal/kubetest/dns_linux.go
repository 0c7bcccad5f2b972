package kubetest

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// domain is that of the cluster.
const domain = ".svc.cluster.local."

// serveDNS answers the questions of pods: the names of pods in headless Services, and the Services themselves, which
// are all pods of theirs that are ready. Every answer is that of the API server at this moment.
func (c *Cluster) serveDNS(t testing.TB) error {
	l, err := net.ListenPacket("udp", net.JoinHostPort(machineAddress, "53"))
	if err != nil {
		return err
	}
	t.Cleanup(func() { _ = l.Close() }) // this ends the goroutine
	go func() {
		question := make([]byte, 4096)
		for {
			n, from, err := l.ReadFrom(question)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(question[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			go func() {
				m.Response, m.Authoritative, m.Additionals = true, true, nil
				m.RCode, m.Answers = c.lookup(m.Questions[0])
				if text, err := m.Pack(); err == nil {
					_, _ = l.WriteTo(text, from) // a resolver asks again
				}
			}()
		}
	}()
	return nil
}

func (c *Cluster) lookup(q dnsmessage.Question) (dnsmessage.RCode, []dnsmessage.Resource) {
	name, inside := strings.CutSuffix(strings.ToLower(q.Name.String()), domain)
	parts := strings.Split(name, ".")
	if !inside || len(parts) < 2 {
		return dnsmessage.RCodeNameError, nil
	}
	namespace, service := parts[len(parts)-1], parts[len(parts)-2]
	ctx, cancel := context.WithTimeout(context.Background(), Limit)
	defer cancel()
	s, err := c.Client.CoreV1().Services(namespace).Get(ctx, service, meta.GetOptions{})
	if err != nil {
		return dnsmessage.RCodeNameError, nil
	}
	all, err := c.Client.CoreV1().Pods(namespace).List(ctx,
		meta.ListOptions{LabelSelector: meta.FormatLabelSelector(&meta.LabelSelector{MatchLabels: s.Spec.Selector})})
	if err != nil {
		return dnsmessage.RCodeServerFailure, nil
	}
	var found []dnsmessage.Resource
	for _, p := range all.Items {
		ip, err := netip.ParseAddr(p.Status.PodIP)
		named := len(parts) == 3 && p.Spec.Subdomain == service && p.Spec.Hostname == parts[0]
		if err == nil && p.DeletionTimestamp == nil && (named || len(parts) == 2) &&
			(s.Spec.PublishNotReadyAddresses || podReady(&p)) {
			found = append(found, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1}, Body: &dnsmessage.AResource{A: ip.As4()}})
		}
	}
	if len(found) == 0 {
		return dnsmessage.RCodeNameError, nil
	}
	if q.Type != dnsmessage.TypeA {
		return dnsmessage.RCodeSuccess, nil
	}
	return dnsmessage.RCodeSuccess, found
}

func podReady(p *core.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c core.PodCondition) bool {
		return c.Type == core.PodReady && c.Status == core.ConditionTrue
	})
}
