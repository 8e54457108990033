package extenderbench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// waitForAllocations waits until the extender's snapshot has all allocations of the fleet. In a real cluster they do not
// arrive all at once, so the time that the extender needs for them is not measured.
func waitForAllocations(ctx context.Context, c contestant, f *fleet) error {
	want := growth.MiB(0)
	for _, gpus := range f.used {
		for _, used := range gpus {
			want += used
		}
	}
	var last error
	err := c.Await(ctx, 500*time.Millisecond, func(ctx context.Context) bool {
		var used growth.MiB
		used, last = usedMemory(ctx, c.url)
		if last == nil && used != want {
			last = fmt.Errorf("%s are used, and the extender has seen %s", want, used)
		}
		return last == nil
	})
	if err != nil {
		return fmt.Errorf("%w (%w)", err, last)
	}
	return nil
}

// usedMemory returns the used memory of all nodes, as the extender reports it.
func usedMemory(ctx context.Context, url string) (growth.MiB, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/inspect", http.NoBody)
	if err != nil {
		return 0, err
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer reply.Body.Close()
	var inspected struct {
		Nodes []struct {
			Used int `json:"usedGPU"`
		} `json:"nodes"`
	}
	if err := json.NewDecoder(reply.Body).Decode(&inspected); err != nil {
		return 0, fmt.Errorf("/inspect: %w", err)
	}
	units := 0
	for _, node := range inspected.Nodes {
		units += node.Used
	}
	return growth.MiB(units) * growth.GiB, nil
}
