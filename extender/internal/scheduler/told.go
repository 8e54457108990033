package scheduler

import (
	"maps"
	"time"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
	"github.com/trellis-gpu/trellis/growth/gpushare/aliyun"
)

// told is what the Binding writes on the pod: its GPUs and, where pods ask in gpushare's way, what gpushare's tools read. A
// pod on several GPUs is not told in that way: those tools know of one GPU per pod.
func (d *Decider) told(pod request.Pod, node growth.NodeName, gpus []growth.GPUShare) map[string]string {
	told := map[string]string{gpushare.GPUAnnotation: request.Annotation(gpus)}
	if here := d.View.Snapshot().Node(node); d.Resource == aliyun.Resource && len(gpus) == 1 && here != nil {
		inventory := here.Inventory()
		if index, units, known := aliyun.DeviceIndex(inventory, gpus[0].GPU); known {
			placed := aliyun.Assignment{Index: index, Units: gpushare.Units(gpus[0].Memory, inventory.Unit), GPUUnits: units, Assumed: time.Now()}
			maps.Copy(told, placed.Annotations())
		}
	}
	return told
}
