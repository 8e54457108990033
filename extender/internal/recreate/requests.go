package recreate

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/node"
)

// Lasting returns the requests for the whole life of a new pod in place of this one, as request.Lasting does: those that the pod was
// created with, although they may have been tuned since.
func Lasting(pod *corev1.Pod) (cpu growth.MilliCPU, memory growth.MiB) {
	if pod.Annotations[gpushare.RequestAnnotation] == "" && pod.Annotations[gpushare.MemoryRequestAnnotation] == "" {
		return request.Lasting(pod)
	}
	return request.Lasting(Copy(pod))
}

// restoreRequests gives the containers of a copy the requests that the pod was created with. Those in its spec were tuned for the jobs that
// it ran next to, and the copy has no annotation that says so: they would be taken for the user's own.
func restoreRequests(copied, pod *corev1.Pod) {
	for name, cpu := range originalCPU(pod) {
		restore(copied, name, corev1.ResourceCPU, *resource.NewMilliQuantity(int64(cpu), resource.DecimalSI))
	}
	name, value, _ := strings.Cut(pod.Annotations[gpushare.MemoryRequestAnnotation], "=")
	if memory, err := resource.ParseQuantity(value); err == nil && memory.Sign() > 0 {
		restore(copied, name, corev1.ResourceMemory, memory)
	}
}

// originalCPU returns the CPU requests that the annotation preserves, as the coordinator reads it.
func originalCPU(pod *corev1.Pod) node.Requests {
	read := node.Pod{Annotations: pod.Annotations}
	for _, c := range pod.Spec.Containers {
		read.Containers = append(read.Containers, node.Container{
			Name:    c.Name,
			Request: growth.MilliCPU(c.Resources.Requests.Cpu().MilliValue()),
		})
	}
	original, preserved := read.Original()
	if !preserved {
		return nil
	}
	return original
}

// restore sets a request of a container that has one. The limit bounds it: the user may have lowered that since, and the API server refuses
// a larger request.
func restore(pod *corev1.Pod, container string, of corev1.ResourceName, first resource.Quantity) {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if _, requested := c.Resources.Requests[of]; c.Name != container || !requested {
			continue
		}
		if limit, limited := c.Resources.Limits[of]; limited && limit.Cmp(first) < 0 {
			first = limit
		}
		c.Resources.Requests[of] = first
	}
}
