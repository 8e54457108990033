package upstreamtest

import (
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

	"github.com/trellis-gpu/trellis/daemon/controlplanetest"
	"github.com/trellis-gpu/trellis/daemon/processtest"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// user is the administrator of a control plane.
const user = "administrator"

// Plane is a control plane that runs.
type Plane struct {
	Client kubernetes.Interface
	// Kubeconfig is the kubeconfig file of an administrator, Etcd the URL of the API server's etcd.
	Kubeconfig, Etcd string

	plane *controlplanetest.Plane
}

// Start starts etcd and an API server. They end with the test, which is skipped where there are no upstream programs.
func Start(t *testing.T) *Plane {
	t.Helper()
	dir := controlplanetest.StockDir()
	if dir == "" {
		t.Skip("needs TRELLIS_STOCK_DIR, a folder with etcd, kube-apiserver and kube-scheduler")
	}
	plane, err := controlplanetest.Start(t.Context(), controlplanetest.Options{
		StockDir: dir,
		Dir:      t.TempDir(),
		Users:    []string{user},
		// There is no controller that would make service accounts and clear the taints of new nodes.
		APIServerFlags: []string{"--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"},
	})
	t.Cleanup(plane.Close)
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: plane.URL, BearerToken: user, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: 1000, Burst: 1000,
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	}, time.Minute, 100*time.Millisecond, "the API server has no default namespace")
	kubeconfig, err := plane.Kubeconfig(user)
	require.NoError(t, err)
	p := &Plane{Client: client, Kubeconfig: kubeconfig, Etcd: plane.Etcd, plane: plane}
	showAtFailure(t, "kube-apiserver", plane.APIServerProcess)
	return p
}

// Scheduler starts kube-scheduler with a profile "trellis" and extenders, a YAML list. It ends with the test.
func (p *Plane) Scheduler(t *testing.T, extenders string) {
	t.Helper()
	scheduler, err := p.plane.Scheduler(user, extenders)
	require.NoError(t, err)
	t.Cleanup(scheduler.Kill)
	showAtFailure(t, "kube-scheduler", scheduler)
}

// showAtFailure shows the end of a program's output if the test fails.
func showAtFailure(t *testing.T, name string, program *processtest.Process) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s: %s", name, program.Output())
		}
	})
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
	out, err := exec.Command(filepath.Join(controlplanetest.StockDir(), "kube-scheduler"), "--version").Output()
	require.NoError(t, err)
	return strings.TrimSpace(strings.TrimPrefix(string(out), "Kubernetes "))
}
