package scheduler_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/trellis-gpu/trellis/extender/internal/clustertest"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/gpushare/aliyun"
)

// TestAliyun_UnchangedPod places a pod with only a limit of aliyun.com/gpu-mem, from filter to bind.
func TestAliyun_UnchangedPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.WithResource(t, aliyun.Resource)
		c.Node("full", 24)
		c.Node("n", 2, 24)
		clustertest.Record(c, bus.AllocationKey("full", "old"), bus.Allocation{Containers: []bus.ContainerAllocation{
			{Name: "c0", GPUs: []growth.GPUShare{{GPU: "full-a", Memory: 22 * growth.GiB}}},
		}})
		pod := c.Create(clustertest.PodWithLimit("binpack-1", aliyun.Resource, 3))
		c.Settle()

		d := c.Scheduler(c.Cache)
		found, err := d.Filter(pod, []string{"full", "n"})
		require.NoError(t, err)
		require.Equal(t, []string{"n"}, found.Fit())
		require.Equal(t, "GPU memory: 3GiB asked, largest free share 2GiB on gpu-0", found.Failed(false)["full"])
		require.Equal(t, int8(10), d.Prioritize(pod, found.Fit()).Points[0])
		require.NoError(t, d.Bind(t.Context(), clustertest.Ref(pod), "n"))

		require.Len(t, c.Bindings.Posted(), 1, "one write with all annotations")
		require.Equal(t, map[string]string{
			gpushare.GPUAnnotation: "n-b", "ALIYUN_COM_GPU_MEM_IDX": "1", "ALIYUN_COM_GPU_MEM_POD": "3", "ALIYUN_COM_GPU_MEM_DEV": "24",
			"ALIYUN_COM_GPU_MEM_ASSIGNED": "true", "ALIYUN_COM_GPU_MEM_ASSUME_TIME": strconv.FormatInt(time.Now().UnixNano(), 10),
		}, c.Get(pod).Annotations)
		require.Equal(t, []bus.ContainerRequest{{Name: "c0", Units: 3}}, c.Reservations("n")[growth.PodUID(pod.UID)].Containers)

		e, _ := d.Explain("default", "binpack-1")
		require.Equal(t, 3, e.Units)
		require.Zero(t, e.Memory)
	})
}

func TestAliyun_Annotations(t *testing.T) {
	for name, tc := range map[string]struct {
		by   corev1.ResourceName
		gpus string
		want bool
	}{
		"one GPU of Aliyun's resource":  {aliyun.Resource, "1", true},
		"two GPUs of Aliyun's resource": {aliyun.Resource, "2", false},
		"Trellis' resource":             {gpushare.Resource, "1", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clustertest.WithResource(t, tc.by)
				c.Node("n", 24, 24)
				pod := clustertest.PodWithLimit("p", tc.by, 4)
				pod.Annotations = map[string]string{gpushare.MemoryAnnotation: "2Gi", gpushare.CountAnnotation: tc.gpus}
				pod = c.Create(pod)
				c.Settle()
				require.NoError(t, c.Scheduler(c.Cache).Bind(t.Context(), clustertest.Ref(pod), "n"))
				_, got := aliyun.Index(c.Get(pod).Annotations)
				require.Equal(t, tc.want, got)
			})
		})
	}
}

func TestInspect_ListsPodsByGPU(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clustertest.WithResource(t, aliyun.Resource)
		require.Contains(t, c.Scheduler(c.Cache).Inspect("").Error, "has not seen the whole cluster yet")
		c.Node("n", 24)
		c.Node("empty", 8)
		c.NodeWithLabels("plain", nil)
		clustertest.Record(c, bus.AllocationKey("n", "u"), bus.Allocation{
			Pod:        growth.PodRef{Namespace: "vision", Name: "old", UID: "u"},
			Containers: []bus.ContainerAllocation{{Name: "c0", GPUs: []growth.GPUShare{{GPU: "n-a", Memory: 5 * growth.GiB}}}},
		})
		pod := c.Create(clustertest.PodWithLimit("new", aliyun.Resource, 3))
		c.Settle()
		d := c.Scheduler(c.Cache)
		require.NoError(t, d.Bind(t.Context(), clustertest.Ref(pod), "n"))
		c.Settle()

		held := aliyun.Node{Name: "n", Total: 24, Used: 8, GPUs: []aliyun.GPU{{Total: 24, Used: 8, Pods: []aliyun.Pod{
			{Namespace: "default", Name: "new", Used: 3}, {Namespace: "vision", Name: "old", Used: 5},
		}}}}
		free := aliyun.Node{Name: "empty", Total: 8, GPUs: []aliyun.GPU{{Total: 8, Pods: []aliyun.Pod{}}}}
		require.Equal(t, aliyun.Inspection{Nodes: []aliyun.Node{free, held}}, d.Inspect(""))
		require.Equal(t, aliyun.Inspection{Nodes: []aliyun.Node{held}}, d.Inspect("n"))
		require.Contains(t, d.Inspect("plain").Error, "label gpushare=true is missing")
		require.Equal(t, "nothing is known about node gone", d.Inspect("gone").Error)
	})
}
