package controlplanetest

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/trellis-gpu/trellis/daemon/processtest"
)

// StockDir returns the folder of the stock programs, or "" if there is none.
func StockDir() string { return os.Getenv("TRELLIS_STOCK_DIR") }

// Options configure a control plane.
type Options struct {
	// StockDir is the folder of the stock programs. Dir is the folder for the files of this control plane.
	StockDir, Dir string
	// Users are cluster administrators. The name of a user is also its token.
	Users []string
	// EtcdFlags and APIServerFlags are appended to the flags that this package sets.
	EtcdFlags, APIServerFlags []string
}

// Plane is a running control plane.
type Plane struct {
	// URL is the URL of the API server. Etcd is the URL of its etcd.
	URL, Etcd string
	// EtcdProcess and APIServerProcess are the two programs.
	EtcdProcess, APIServerProcess *processtest.Process

	options Options
}

// Start starts etcd and an API server, and waits until both are ready. The caller must call Close, after an error too.
func Start(ctx context.Context, o Options) (*Plane, error) {
	p := &Plane{options: o}
	var err error
	if p.EtcdProcess, p.Etcd, err = StartEtcd(ctx, o.StockDir, o.Dir, o.EtcdFlags...); err != nil {
		return p, err
	}
	address, err := processtest.FreeAddress()
	if err != nil {
		return p, err
	}
	p.URL = "https://" + address
	flags, err := p.apiServerFlags(address)
	if err != nil {
		return p, err
	}
	p.APIServerProcess, err = processtest.Start(processtest.Program{
		Path: filepath.Join(o.StockDir, "kube-apiserver"), Args: flags, Dir: o.Dir,
	})
	if err != nil {
		return p, err
	}
	return p, p.awaitReady(ctx)
}

// awaitReady waits until the API server is ready.
func (p *Plane) awaitReady(ctx context.Context) error {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // its certificate is self-signed
	defer transport.CloseIdleConnections()
	return p.APIServerProcess.AwaitURLWith(ctx, &http.Client{Transport: withToken{transport, p.options.Users[0]}}, p.URL+"/readyz")
}

// withToken adds a user's token to requests.
type withToken struct {
	http.RoundTripper
	token string
}

// RoundTrip implements http.RoundTripper.
func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+w.token)
	return w.RoundTripper.RoundTrip(r)
}

// Close kills the programs.
func (p *Plane) Close() {
	p.APIServerProcess.Kill()
	p.EtcdProcess.Kill()
}

func (p *Plane) apiServerFlags(address string) ([]string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	key, err := serviceAccountKey()
	if err != nil {
		return nil, err
	}
	keyFile, err := p.Write("service-account.key", key)
	if err != nil {
		return nil, err
	}
	var tokens strings.Builder
	for i, user := range p.options.Users {
		fmt.Fprintf(&tokens, "%s,%s,%d,system:masters\n", user, user, i+1)
	}
	tokenFile, err := p.Write("tokens.csv", tokens.String())
	if err != nil {
		return nil, err
	}
	return append([]string{
		"--etcd-servers=" + p.Etcd,
		"--bind-address=" + host,
		"--secure-port=" + port,
		"--cert-dir=" + filepath.Join(p.options.Dir, "certificates"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + keyFile,
		"--service-account-signing-key-file=" + keyFile,
		"--token-auth-file=" + tokenFile,
		"--service-cluster-ip-range=10.0.0.0/24",
		"--endpoint-reconciler-type=none",
	}, p.options.APIServerFlags...), nil
}

// Kubeconfig writes a kubeconfig file of a user and returns its path.
func (p *Plane) Kubeconfig(user string) (string, error) {
	return p.Write("kubeconfig-"+user, fmt.Sprintf(kubeconfig, p.URL, user))
}

// Scheduler starts kube-scheduler as a user. Its configuration is SchedulerConfig with a YAML list of extenders.
func (p *Plane) Scheduler(user, extenders string) (*processtest.Process, error) {
	kubeconfig, err := p.Kubeconfig(user)
	if err != nil {
		return nil, err
	}
	config, err := p.Write("scheduler.yaml", SchedulerConfig(kubeconfig)+extenders)
	if err != nil {
		return nil, err
	}
	return processtest.Start(processtest.Program{
		Path: filepath.Join(p.options.StockDir, "kube-scheduler"),
		Args: []string{"--config=" + config, "--secure-port=0"},
		Dir:  p.options.Dir,
	})
}

// Controllers starts kube-controller-manager as a user, with some of its controllers.
func (p *Plane) Controllers(user string, names ...string) (*processtest.Process, error) {
	kubeconfig, err := p.Kubeconfig(user)
	if err != nil {
		return nil, err
	}
	return processtest.Start(processtest.Program{
		Path: filepath.Join(p.options.StockDir, "kube-controller-manager"),
		Args: []string{
			"--kubeconfig=" + kubeconfig,
			"--controllers=" + strings.Join(names, ","),
			"--leader-elect=false",
			"--secure-port=0",
		},
		Dir: p.options.Dir,
	})
}

// Write writes a file of the control plane and returns its path.
func (p *Plane) Write(name, content string) (string, error) {
	path := filepath.Join(p.options.Dir, name)
	return path, os.WriteFile(path, []byte(content), 0o600)
}

// kubeconfig is a format for the URL of the API server and a token.
const kubeconfig = `{"apiVersion": "v1", "kind": "Config", "current-context": "c",
"clusters": [{"name": "c", "cluster": {"server": "%s", "insecure-skip-tls-verify": true}}],
"users": [{"name": "u", "user": {"token": "%s"}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}`

// SchedulerConfig returns the configuration of kube-scheduler for a kubeconfig file. It ends with the key of the YAML list
// of extenders, which the caller appends. The client's rate limits are far above the tested rates. All nodes are scored, as
// in the profile that Trellis installs.
func SchedulerConfig(kubeconfig string) string { return fmt.Sprintf(schedulerConfig, kubeconfig) }

const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %s, qps: 1000, burst: 2000}
leaderElection: {leaderElect: false}
percentageOfNodesToScore: 100
profiles:
- schedulerName: trellis
extenders:`
