package extenderbench

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/trellis-gpu/trellis/daemon/etcdbus"
)

// Users of the API server: the benchmark, and the measured extender, whose writes are counted.
const (
	benchUser    = "bench"
	extenderUser = "extender"
)

// plane is a stock control plane: etcd and kube-apiserver, without kubelets and controllers.
type plane struct {
	stock, dir string
	etcd, api  *process
	address    string
	client     kubernetes.Interface
}

// openPlane starts it. Its settings exclude the server's own limits from the figures: no fsync, no fairness queues,
// no request limits, no admission that needs controllers.
func openPlane(ctx context.Context, stock, dir string) (*plane, error) {
	p := &plane{stock: stock, dir: dir}
	etcd, store, err := startEtcd(ctx, stock, dir)
	if err != nil {
		return nil, err
	}
	p.etcd = etcd
	if p.address, err = freeAddress(); err != nil {
		return p, err
	}
	key, err := serviceAccountKey()
	if err != nil {
		return p, err
	}
	host, port, _ := net.SplitHostPort(p.address)
	p.api, err = launch(dir, filepath.Join(stock, "kube-apiserver"), "--etcd-servers="+store, "--bind-address="+host, "--secure-port="+port,
		"--cert-dir="+filepath.Join(dir, "certificates"), "--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+p.write("key.pem", key), "--service-account-signing-key-file="+p.write("key.pem", key),
		"--token-auth-file="+p.write("tokens.csv", benchUser+","+benchUser+",1,system:masters\n"+extenderUser+","+extenderUser+",2,system:masters\n"),
		"--audit-policy-file="+p.write("audit.yaml", auditPolicy), "--audit-log-path="+p.audit(),
		"--authorization-mode=AlwaysAllow", "--enable-priority-and-fairness=false", "--max-requests-inflight=0",
		"--max-mutating-requests-inflight=0", "--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none",
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,PodTopologyLabels")
	if err != nil {
		return p, err
	}
	p.client, err = kubernetes.NewForConfig(&rest.Config{
		Host: "https://" + p.address, BearerToken: benchUser, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: 5000, Burst: 5000,
		ContentConfig: rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf"},
	})
	if err != nil {
		return p, err
	}
	return p, p.api.await(ctx, func(ctx context.Context) bool {
		return p.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil
	})
}

func (p *plane) close() {
	p.api.stop()
	p.etcd.stop()
}

// cpu returns the CPU time of both programs.
func (p *plane) cpu() time.Duration { return p.etcd.cpu() + p.api.cpu() }

func (p *plane) audit() string { return filepath.Join(p.dir, "audit.log") }

// auditPolicy records only the extender's writes.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, users: [` + extenderUser + `], verbs: [create, update, patch, delete, deletecollection]}
- {level: None}
`

// kubeconfig writes a kubeconfig for a user.
func (p *plane) kubeconfig(user string) string {
	return p.write("kubeconfig-"+user, fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
"clusters": [{"name": "c", "cluster": {"server": "https://%s", "insecure-skip-tls-verify": true}}],
"users": [{"name": "u", "user": {"token": "%s"}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}`, p.address, user))
}

// scheduler starts a stock scheduler with the extender at url.
func (p *plane) scheduler(url string) (*process, error) {
	config := p.write("scheduler.yaml", fmt.Sprintf(schedulerConfig, p.kubeconfig(benchUser), url))
	return launch(p.dir, filepath.Join(p.stock, "kube-scheduler"), "--config="+config, "--secure-port=0")
}

// schedulerConfig takes a kubeconfig and the extender's URL. It scores every node, as the shipped profile does.
const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %s, qps: 1000, burst: 2000}
leaderElection: {leaderElect: false}
percentageOfNodesToScore: 100
profiles:
- schedulerName: trellis
extenders:
- urlPrefix: %s
  filterVerb: filter
  prioritizeVerb: prioritize
  bindVerb: bind
  weight: 10
  nodeCacheCapable: true
  httpTimeout: 5s
  managedResources: [{name: gpushare/gpu-mem}]
`

// write writes a file of the plane. A failure shows in the program that reads the file.
func (p *plane) write(name, content string) string {
	path := filepath.Join(p.dir, name)
	_ = os.WriteFile(path, []byte(content), 0o600)
	return path
}

// startEtcd starts an empty etcd and returns its URL.
func startEtcd(ctx context.Context, stock, dir string) (*process, string, error) {
	clients, err := freeAddress()
	if err != nil {
		return nil, "", err
	}
	peers, err := freeAddress()
	if err != nil {
		return nil, "", err
	}
	data, err := os.MkdirTemp(dir, "etcd-")
	if err != nil {
		return nil, "", err
	}
	url := "http://" + clients
	p, err := launch(dir, filepath.Join(stock, "etcd"), "--data-dir="+data, "--unsafe-no-fsync", "--log-level=error", "--quota-backend-bytes=8589934592",
		"--listen-client-urls="+url, "--advertise-client-urls="+url, "--listen-peer-urls=http://"+peers)
	if err != nil {
		return nil, "", err
	}
	return p, url, p.answers(ctx, url+"/health")
}

// bus is an empty state bus with its own etcd.
type bus struct {
	*etcdbus.Bus
	etcd *process
	url  string
}

func openBus(ctx context.Context, stock, dir string) (*bus, error) {
	etcd, url, err := startEtcd(ctx, stock, dir)
	if err != nil {
		return nil, err
	}
	b, err := etcdbus.Open(etcdbus.Config{Endpoints: []string{url}})
	return &bus{Bus: b, etcd: etcd, url: url}, err
}

func (b *bus) close() {
	_ = b.Close()
	b.etcd.stop()
}

func serviceAccountKey() (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalECPrivateKey(key)
	return string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})), err
}
