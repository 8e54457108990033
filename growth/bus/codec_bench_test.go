package bus_test

import (
	"fmt"
	"testing"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
)

// BenchmarkDecode decodes an allocation of 40 GiB. An extender decodes tens of thousands of them when it starts on a
// large cluster.
func BenchmarkDecode(b *testing.B) {
	ids := make([]string, 40)
	for i := range ids {
		ids[i] = fmt.Sprintf("GPU-00007-0000-4000-8000-000000000003/%d", i)
	}
	value, err := bus.Encode(bus.Allocation{Pod: growth.PodRef{Namespace: "default", Name: "training-job-000007", UID: "0a1b2c3d-0000-4000-8000-000000000007"},
		Containers: []bus.ContainerAllocation{{Name: "train", GPUs: []growth.GPUShare{{GPU: "GPU-00007-0000-4000-8000-000000000003", Memory: 40 * growth.GiB}}, IDs: ids}}})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(value)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bus.Decode[bus.Allocation](value); err != nil {
			b.Fatal(err)
		}
	}
}
