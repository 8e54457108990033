package stock

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Plane is a running control plane.
type Plane struct {
	Client kubernetes.Interface
	// Kubeconfig is the file of an administrator, Etcd the URL of the etcd behind the API server.
	Kubeconfig, Etcd string

	binaries, dir string
}

// Given tells whether there are stock binaries to run.
func Given() bool { return os.Getenv("TRELLIS_STOCK_DIR") != "" }

// Start starts etcd and an API server. They end with the test.
func Start(t *testing.T) *Plane {
	t.Helper()
	p := &Plane{binaries: os.Getenv("TRELLIS_STOCK_DIR"), dir: t.TempDir()}
	if p.binaries == "" {
		t.Fatal("TRELLIS_STOCK_DIR must name a folder with etcd, kube-apiserver and kube-scheduler")
	}
	secure := "127.0.0.1:" + freePort(t)
	p.Etcd = p.startEtcd(t)
	p.startAPIServer(t, secure)
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: "https://" + secure, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: 1000, Burst: 1000,
	})
	require.NoError(t, err)
	p.Client = client
	require.Eventually(t, func() bool {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	}, 2*time.Minute, 200*time.Millisecond, "the API server did not come up")
	p.Kubeconfig = p.write(t, "kubeconfig", fmt.Sprintf(kubeconfig, secure, token))
	return p
}

// Scheduler starts kube-scheduler with a profile "trellis" and extenders, a YAML list.
func (p *Plane) Scheduler(t *testing.T, extenders string) {
	t.Helper()
	config := p.write(t, "scheduler.yaml", fmt.Sprintf(schedulerConfig, p.Kubeconfig)+extenders)
	p.run(t, "kube-scheduler", "--config="+config, "--secure-port=0")
}

// Node makes a ready node that offers so many units of GPU memory.
func (p *Plane) Node(t *testing.T, name string, units int64) {
	t.Helper()
	p.Offering(t, name, gpushare.Resource, units)
}

// Offering makes a ready node that offers so many units of a resource.
func (p *Plane) Offering(t *testing.T, name string, offered corev1.ResourceName, units int64) {
	t.Helper()
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourcePods: resource.MustParse("1000"), offered: *resource.NewQuantity(units, resource.DecimalSI),
	}
	_, err := p.Client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{gpushare.NodeLabel: "true"}},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// Class makes a priority class.
func (p *Plane) Class(t *testing.T, name string, priority int32) {
	t.Helper()
	_, err := p.Client.SchedulingV1().PriorityClasses().Create(t.Context(), &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Value: priority,
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// Version is the scheduler's, such as v1.36.4.
func (p *Plane) Version(t *testing.T) string {
	t.Helper()
	out, err := exec.Command(filepath.Join(p.binaries, "kube-scheduler"), "--version").Output()
	require.NoError(t, err)
	return strings.TrimSpace(strings.TrimPrefix(string(out), "Kubernetes "))
}

// token is the administrator's, on an API server that lives as long as one test.
const token = "administrator"

// kubeconfig takes the API server's address and the token.
const kubeconfig = `{"apiVersion": "v1", "kind": "Config", "current-context": "c",
"clusters": [{"name": "c", "cluster": {"server": "https://%s", "insecure-skip-tls-verify": true}}],
"users": [{"name": "u", "user": {"token": "%s"}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}`

// schedulerConfig takes a kubeconfig; the extenders follow.
const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %s, qps: 500, burst: 1000}
leaderElection: {leaderElect: false}
percentageOfNodesToScore: 100
profiles:
- schedulerName: trellis
extenders:`
