package controlplane

import (
	"errors"
	"net/netip"
	"time"

	"github.com/trellis-gpu/trellis/deploy/local/internal/pki"
)

// masters is the group with all permissions.
const masters = "system:masters"

// WriteCertificates creates both authorities and all certificates and kubeconfigs of the cluster and its nodes.
func (l Layout) WriteCertificates(now time.Time) error {
	etcd, err := pki.NewAuthority(l.Folder.PKI(""), "etcd-ca", now)
	if err != nil {
		return err
	}
	ca, err := pki.NewAuthority(l.Folder.PKI(""), "ca", now)
	if err != nil {
		return err
	}
	host := []netip.Addr{l.Plan.Host}
	return errors.Join(
		etcd.Issue("etcd", pki.Subject{User: "etcd", Addrs: host}),
		etcd.Issue("etcd-client", pki.Subject{User: "kube-apiserver"}),
		ca.Issue("apiserver", pki.Subject{
			User:  "kube-apiserver",
			Names: []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc"},
			Addrs: []netip.Addr{l.Plan.Host, l.Plan.APIService()},
		}),
		ca.Issue("apiserver-kubelet-client", pki.Subject{User: "kube-apiserver-kubelet-client", Groups: []string{masters}}),
		pki.WriteKey(l.Folder.PKI("service-account.key")),
		l.writeKubeconfigs(ca),
		l.writeNodeCertificates(ca),
	)
}

func (l Layout) writeKubeconfigs(ca *pki.Authority) error {
	var errs []error
	for file, subject := range map[string]pki.Subject{
		"admin":                   {User: "admin", Groups: []string{masters}},
		"kube-controller-manager": {User: "system:kube-controller-manager"},
		"kube-scheduler":          {User: "system:kube-scheduler"},
		"kube-proxy":              {User: "system:kube-proxy"},
	} {
		errs = append(errs, ca.Kubeconfig(l.Folder.Kubeconfig(file), l.Plan.Cluster, l.Plan.APIURL(), subject))
	}
	return errors.Join(errs...)
}

// writeNodeCertificates gives each kubelet an identity for the Node authorizer, and a serving certificate that the API server
// verifies when it reads logs.
func (l Layout) writeNodeCertificates(ca *pki.Authority) error {
	var errs []error
	for _, n := range l.Plan.Nodes {
		identity := pki.Subject{User: "system:node:" + n.Name, Groups: []string{"system:nodes"}}
		errs = append(errs, ca.Kubeconfig(l.Folder.Kubeconfig(n.Name), l.Plan.Cluster, l.Plan.APIURL(), identity))
		serving := identity
		serving.Names, serving.Addrs = []string{n.Name}, []netip.Addr{n.Addr}
		errs = append(errs, ca.Issue("kubelet-"+n.Name, serving))
	}
	return errors.Join(errs...)
}
