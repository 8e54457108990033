package extenderbench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/trellis-gpu/trellis/daemon/controlplanetest"
	"github.com/trellis-gpu/trellis/daemon/etcdbus"
)

// Users of the API server: the benchmark, and the measured extender, whose writes are counted.
const (
	benchUser    = "bench"
	extenderUser = "extender"
)

// plane is a stock control plane: etcd and kube-apiserver, without kubelets and controllers.
type plane struct {
	*controlplanetest.Plane
	stock, dir string
	client     kubernetes.Interface
}

// openPlane starts a control plane. Its settings exclude the server's own limits: no fsync, no fairness queues,
// no request limits, no admission that needs controllers.
func openPlane(ctx context.Context, stock, dir string) (*plane, error) {
	p := &plane{stock: stock, dir: dir}
	policy := filepath.Join(dir, "audit.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, err
	}
	started, err := controlplanetest.Start(ctx, controlplanetest.Options{
		StockDir:  stock,
		Dir:       dir,
		Users:     []string{benchUser, extenderUser},
		EtcdFlags: []string{etcdQuota},
		APIServerFlags: []string{
			"--audit-policy-file=" + policy,
			"--audit-log-path=" + p.audit(),
			"--authorization-mode=AlwaysAllow",
			"--enable-priority-and-fairness=false",
			"--max-requests-inflight=0",
			"--max-mutating-requests-inflight=0",
			"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,PodTopologyLabels",
		},
	})
	p.Plane = started
	if err != nil {
		p.close()
		return nil, err
	}
	p.client, err = kubernetes.NewForConfig(&rest.Config{
		Host: p.URL, BearerToken: benchUser, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: 5000, Burst: 5000,
		ContentConfig: rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf"},
	})
	return p, err
}

// etcdQuota lets the database hold all objects of a run.
const etcdQuota = "--quota-backend-bytes=8589934592"

func (p *plane) close() {
	p.APIServerProcess.Stop()
	p.EtcdProcess.Stop()
}

// cpu returns the CPU time of the API server and its etcd.
func (p *plane) cpu() time.Duration {
	return (&process{p.EtcdProcess}).cpu() + (&process{p.APIServerProcess}).cpu()
}

func (p *plane) audit() string { return filepath.Join(p.dir, "audit.log") }

// auditPolicy records only the extender's writes.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, users: [` + extenderUser + `], verbs: [create, update, patch, delete, deletecollection]}
- {level: None}
`

// kubeconfig returns the kubeconfig file of a user. If it cannot be written, the program that reads it reports that.
func (p *plane) kubeconfig(user string) string {
	path, _ := p.Kubeconfig(user)
	return path
}

// scheduler starts a stock scheduler that calls the extender at url.
func (p *plane) scheduler(url string) (*process, error) {
	started, err := p.Scheduler(benchUser, fmt.Sprintf(extenders, url))
	return &process{started}, err
}

// extenders is the part of the scheduler's configuration about the extender; %s is the extender's URL.
const extenders = `
- urlPrefix: %s
  filterVerb: filter
  prioritizeVerb: prioritize
  bindVerb: bind
  weight: 10
  nodeCacheCapable: true
  httpTimeout: 5s
  managedResources: [{name: gpushare/gpu-mem}]
`

// bus is an empty state bus with its own etcd.
type bus struct {
	*etcdbus.Bus
	etcd *process
	url  string
}

func openBus(ctx context.Context, stock, dir string) (*bus, error) {
	etcd, url, err := controlplanetest.StartEtcd(ctx, stock, dir, etcdQuota)
	if err != nil {
		return nil, err
	}
	b, err := etcdbus.Open(etcdbus.Config{Endpoints: []string{url}})
	return &bus{Bus: b, etcd: &process{etcd}, url: url}, err
}

func (b *bus) close() {
	_ = b.Close()
	b.etcd.stop()
}
