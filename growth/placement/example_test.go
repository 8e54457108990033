package placement_test

import (
	"fmt"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/placement"
)

// A node has a GPU with a growing job and one with a converged job. A new job of 8 GiB disturbs the converged one less.
func ExamplePlace() {
	node := placement.Node{Name: "node-1", Unit: growth.GiB, GPUs: []placement.GPU{
		{UUID: "GPU-a", Memory: 24 * growth.GiB, Healthy: true, Residents: []placement.Resident{
			{
				Pod:      "young",
				Memory:   8 * growth.GiB,
				Growth:   1,
				Activity: 1,
				Category: growth.Progressing,
			},
		}},
		{UUID: "GPU-b", Index: 1, Memory: 24 * growth.GiB, Healthy: true, Residents: []placement.Resident{
			{
				Pod:      "old",
				Memory:   8 * growth.GiB,
				Growth:   0.02,
				Activity: 1,
				Category: growth.Converged,
			},
		}},
	}}
	policy, err := placement.NewPolicy("growth", nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	choice, status := placement.Place(node, request(8), policy)
	fmt.Println(choice.GPUs[0].GPU, status.Fits())

	_, status = placement.Place(node, request(20), policy)
	fmt.Println(status.Reason)
	// Output:
	// GPU-b true
	// GPU memory: 20GiB asked, largest free share 16GiB on gpu-0
}

func request(units int) placement.Request {
	return placement.Request{
		Memory:     growth.MiB(units) * growth.GiB,
		Count:      1,
		Containers: []placement.Container{{Name: "train", Units: units}},
	}
}
