package scheduler

import (
	"maps"
	"time"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/gpushare/aliyun"
)

// annotations returns the annotations of the Binding: the GPUs and, for pods that request Aliyun gpushare's resource, those
// that its tools read. A pod on several GPUs gets none of the latter: those tools know one GPU per pod.
func (s *Scheduler) annotations(node growth.NodeName, gpus []growth.GPUShare) map[string]string {
	annotations := map[string]string{gpushare.GPUAnnotation: request.Annotation(gpus)}
	info := s.Cache.Snapshot().Node(node)
	if s.Resource != aliyun.Resource || len(gpus) != 1 || info == nil {
		return annotations
	}
	inventory := info.Inventory()
	index, units, known := aliyun.DeviceIndex(inventory, gpus[0].GPU)
	if known {
		assignment := aliyun.Assignment{
			Index:    index,
			Units:    gpushare.Units(gpus[0].Memory, inventory.Unit),
			GPUUnits: units,
			Assumed:  time.Now(),
		}
		maps.Copy(annotations, assignment.Annotations())
	}
	return annotations
}
