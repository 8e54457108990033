package controlplane

import (
	"fmt"
	"path/filepath"

	"github.com/trellis-gpu/trellis/deploy/local/internal/network"
	"github.com/trellis-gpu/trellis/deploy/local/internal/process"
	"github.com/trellis-gpu/trellis/deploy/local/internal/state"
)

// Layout is the location of the control plane's programs and files.
type Layout struct {
	Plan   network.Plan
	Folder state.Folder
	Stock  string // the folder of the stock programs
}

func (l Layout) program(name string, args ...string) process.Program {
	return process.Program{Name: name, Path: filepath.Join(l.Stock, name), Args: args, Log: l.Folder.Log(name)}
}

func (l Layout) etcdURL() string { return fmt.Sprintf("https://%s:2379", l.Plan.Host) }

// Etcd is the API server's etcd. It is reachable only on this machine's bridge. Its data are deleted with the cluster, so it
// does not wait for the disk (fsync).
func (l Layout) Etcd() process.Program {
	pki := l.Folder.PKI
	return l.program("etcd",
		"--name=control",
		"--data-dir="+l.Folder.Etcd(),
		"--listen-client-urls="+l.etcdURL(),
		"--advertise-client-urls="+l.etcdURL(),
		fmt.Sprintf("--listen-peer-urls=https://%s:2380", l.Plan.Host),
		fmt.Sprintf("--initial-advertise-peer-urls=https://%s:2380", l.Plan.Host),
		fmt.Sprintf("--initial-cluster=control=https://%s:2380", l.Plan.Host),
		"--client-cert-auth=true",
		"--trusted-ca-file="+pki("etcd-ca.crt"),
		"--cert-file="+pki("etcd.crt"),
		"--key-file="+pki("etcd.key"),
		"--peer-client-cert-auth=true",
		"--peer-trusted-ca-file="+pki("etcd-ca.crt"),
		"--peer-cert-file="+pki("etcd.crt"),
		"--peer-key-file="+pki("etcd.key"),
		"--unsafe-no-fsync=true",
		"--log-level=warn",
	)
}

// APIServer is kube-apiserver. It sends webhook requests to the pods of a Service: the host has routes to pods and none to
// the addresses of Services.
func (l Layout) APIServer() process.Program {
	pki := l.Folder.PKI
	return l.program("kube-apiserver",
		"--bind-address="+l.Plan.Host.String(),
		"--advertise-address="+l.Plan.Host.String(),
		fmt.Sprintf("--secure-port=%d", network.APIPort),
		"--etcd-servers="+l.etcdURL(),
		"--etcd-cafile="+pki("etcd-ca.crt"),
		"--etcd-certfile="+pki("etcd-client.crt"),
		"--etcd-keyfile="+pki("etcd-client.key"),
		"--client-ca-file="+pki("ca.crt"),
		"--tls-cert-file="+pki("apiserver.crt"),
		"--tls-private-key-file="+pki("apiserver.key"),
		"--kubelet-client-certificate="+pki("apiserver-kubelet-client.crt"),
		"--kubelet-client-key="+pki("apiserver-kubelet-client.key"),
		"--kubelet-certificate-authority="+pki("ca.crt"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+pki("service-account.key"),
		"--service-account-signing-key-file="+pki("service-account.key"),
		"--service-cluster-ip-range="+l.Plan.Services.String(),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--enable-aggregator-routing=true",
		"--allow-privileged=true",
		"--anonymous-auth=false",
		"--profiling=false",
	)
}

// ControllerManager is kube-controller-manager with every controller. It assigns no pod subnets: the plan has assigned them.
func (l Layout) ControllerManager() process.Program {
	pki := l.Folder.PKI
	kubeconfig := l.Folder.Kubeconfig("kube-controller-manager")
	return l.program("kube-controller-manager",
		"--bind-address="+l.Plan.Host.String(),
		"--kubeconfig="+kubeconfig,
		"--authentication-kubeconfig="+kubeconfig,
		"--authorization-kubeconfig="+kubeconfig,
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+pki("service-account.key"),
		"--root-ca-file="+pki("ca.crt"),
		"--cluster-signing-cert-file="+pki("ca.crt"),
		"--cluster-signing-key-file="+pki("ca.key"),
		"--leader-elect=false",
		"--profiling=false",
	)
}

// Scheduler is the default kube-scheduler. The scheduler of Trellis runs as a pod.
func (l Layout) Scheduler() process.Program {
	kubeconfig := l.Folder.Kubeconfig("kube-scheduler")
	return l.program("kube-scheduler",
		"--bind-address="+l.Plan.Host.String(),
		"--kubeconfig="+kubeconfig,
		"--authentication-kubeconfig="+kubeconfig,
		"--authorization-kubeconfig="+kubeconfig,
		"--leader-elect=false",
		"--profiling=false",
	)
}
