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

// Plane is a running control plane.
type Plane struct {
	Client kubernetes.Interface
	// Kubeconfig is the path of an administrator's kubeconfig file. Etcd is the URL of the API server's etcd.
	Kubeconfig, Etcd string

	plane *controlplanetest.Plane
}

// Start starts etcd and an API server, and stops them when the test ends. Without the stock programs it skips the test.
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
		// No controller creates service accounts or removes the taints of new nodes.
		APIServerFlags: []string{
			"--authorization-mode=RBAC",
			"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
		},
	})
	t.Cleanup(plane.Close)
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host:            plane.URL,
		BearerToken:     user,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
		QPS:             1000,
		Burst:           1000,
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	}, time.Minute, 100*time.Millisecond, "the API server has no default namespace")
	kubeconfig, err := plane.Kubeconfig(user)
	require.NoError(t, err)
	logOnFailure(t, "kube-apiserver", plane.APIServerProcess)
	return &Plane{Client: client, Kubeconfig: kubeconfig, Etcd: plane.Etcd, plane: plane}
}

// Scheduler starts kube-scheduler with the profile "trellis" and a YAML list of extenders. It stops when the test ends.
func (p *Plane) Scheduler(t *testing.T, extenders string) {
	t.Helper()
	scheduler, err := p.plane.Scheduler(user, extenders)
	require.NoError(t, err)
	t.Cleanup(scheduler.Kill)
	logOnFailure(t, "kube-scheduler", scheduler)
}

// Controllers starts kube-controller-manager with some of its controllers. It stops when the test ends.
func (p *Plane) Controllers(t *testing.T, names ...string) {
	t.Helper()
	controllers, err := p.plane.Controllers(user, names...)
	require.NoError(t, err)
	t.Cleanup(controllers.Kill)
	logOnFailure(t, "kube-controller-manager", controllers)
}

// logOnFailure logs the last part of a program's output if the test fails.
func logOnFailure(t *testing.T, name string, program *processtest.Process) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s: %s", name, program.Output())
		}
	})
}

// Node creates a ready node with a number of units of GPU memory.
func (p *Plane) Node(t *testing.T, name string, units int64) {
	t.Helper()
	p.NodeWith(t, name, gpushare.Resource, units)
}

// NodeWith creates a ready node with a number of units of an extended resource.
func (p *Plane) NodeWith(t *testing.T, name string, resourceName corev1.ResourceName, units int64) {
	t.Helper()
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("64"),
		corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourcePods:   resource.MustParse("1000"),
		resourceName:          *resource.NewQuantity(units, resource.DecimalSI),
	}
	_, err := p.Client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{gpushare.NodeLabel: "true"}},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity,
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// PriorityClass creates a priority class.
func (p *Plane) PriorityClass(t *testing.T, name string, priority int32) {
	t.Helper()
	_, err := p.Client.SchedulingV1().PriorityClasses().Create(t.Context(), &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Value:      priority,
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// Version returns the version of kube-scheduler, such as v1.36.4.
func (p *Plane) Version(t *testing.T) string {
	t.Helper()
	out, err := exec.Command(filepath.Join(controlplanetest.StockDir(), "kube-scheduler"), "--version").Output()
	require.NoError(t, err)
	return strings.TrimSpace(strings.TrimPrefix(string(out), "Kubernetes "))
}
