package pods_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helpers "k8s.io/component-helpers/resource"

	"github.com/trellis-gpu/trellis/coordinator/internal/pods"
	"github.com/trellis-gpu/trellis/growth"
)

func cpus(request string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(request)}
}

// sidecar returns a restartable init container.
func sidecar(name, request string) corev1.Container {
	c := container(name, request, "")
	always := corev1.ContainerRestartPolicyAlways
	c.RestartPolicy = &always
	return c
}

func TestRead_TotalCountsAllContainers(t *testing.T) {
	for name, tc := range map[string]struct {
		init     []corev1.Container
		overhead string
		want     growth.MilliCPU // with an app container of 300m
		doubled  growth.MilliCPU // with one of 600m
	}{
		"only an app container":                   {nil, "0", 300, 600},
		"a smaller init container":                {[]corev1.Container{container("unpack", "200m", "")}, "0", 300, 600},
		"a larger init container":                 {[]corev1.Container{container("unpack", "1500m", "")}, "0", 1500, 1500},
		"an init container in between":            {[]corev1.Container{container("unpack", "400m", "")}, "0", 400, 600},
		"a sidecar":                               {[]corev1.Container{sidecar("log", "50m")}, "0", 350, 650},
		"an init container after a sidecar":       {[]corev1.Container{sidecar("log", "50m"), container("unpack", "400m", "")}, "0", 450, 650},
		"an init container before a sidecar":      {[]corev1.Container{container("unpack", "400m", ""), sidecar("log", "50m")}, "0", 400, 650},
		"the overhead of a runtime class":         {nil, "120m", 420, 720},
		"overhead on top of a larger init":        {[]corev1.Container{container("unpack", "1500m", "")}, "120m", 1620, 1620},
		"two init containers run one by one":      {[]corev1.Container{container("a", "310m", ""), container("b", "320m", "")}, "0", 320, 600},
		"two sidecars and an init container last": {[]corev1.Container{sidecar("a", "50m"), sidecar("b", "60m"), container("c", "1", "")}, "0", 1110, 1110},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(container("train", "300m", ""))
			p.Spec.InitContainers = tc.init
			p.Spec.Overhead = cpus(tc.overhead)
			read := pods.Read(p)
			require.Equal(t, tc.want, read.Total(read.Requests()))
			require.Equal(t, tc.want, pods.Accounted(p))
			p.Spec.Containers[0].Resources.Requests = cpus("600m")
			read = pods.Read(p)
			require.Equal(t, tc.doubled, read.Total(read.Requests()))
		})
	}
}

// For any pod, the total is the sum that kubelet and the scheduler compute.
func TestRead_TotalIsKubeletsSum(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	amount := func() string { return fmt.Sprintf("%dm", random.IntN(20)*50) }
	for range 5000 {
		p := pod()
		for i := range 1 + random.IntN(3) {
			p.Spec.Containers = append(p.Spec.Containers, container(fmt.Sprint("app", i), amount(), ""))
		}
		for i := range random.IntN(4) {
			c := container(fmt.Sprint("init", i), amount(), "")
			if random.IntN(2) == 0 {
				c = sidecar(fmt.Sprint("init", i), amount())
			}
			p.Spec.InitContainers = append(p.Spec.InitContainers, c)
		}
		if random.IntN(3) == 0 {
			p.Spec.Overhead = cpus(amount())
		}
		read := pods.Read(p)
		list := helpers.PodRequests(p, helpers.PodResourcesOptions{})
		require.Equal(t, list.Cpu().MilliValue(), int64(read.Total(read.Requests())), "%+v", p.Spec)

		for _, c := range p.Spec.Containers {
			status := corev1.ContainerStatus{Name: c.Name, AllocatedResources: cpus(amount())}
			status.Resources = &corev1.ResourceRequirements{Requests: cpus(amount())}
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, status)
		}
		if random.IntN(4) == 0 {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: cpus(amount())}
		}
		list = helpers.PodRequests(p, helpers.PodResourcesOptions{UseStatusResources: true})
		require.Equal(t, list.Cpu().MilliValue(), int64(pods.Accounted(p)), "%+v", p)
	}
}

func TestAccounted_EndedPodsTakeNothing(t *testing.T) {
	p := pod(container("train", "300m", ""))
	p.Status.Phase = corev1.PodSucceeded
	require.Zero(t, pods.Accounted(p))
}
