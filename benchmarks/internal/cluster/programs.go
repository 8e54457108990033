package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// Programs returns the number of programs in the tuner's history, by namespace.
func (c *Connection) Programs(ctx context.Context) (map[string]int, error) {
	body, err := c.Proxy(ctx, Namespace, Tuner, "http", "/api/v1/programs")
	if err != nil {
		return nil, fmt.Errorf("asking the tuner for its programs: %w", err)
	}
	defer body.Close()
	var answer struct {
		Programs []struct {
			Namespace string `json:"namespace"`
		} `json:"programs"`
	}
	if err := json.NewDecoder(io.LimitReader(body, maxState)).Decode(&answer); err != nil {
		return nil, fmt.Errorf("the tuner's programs: %w", err)
	}
	count := map[string]int{}
	for _, p := range answer.Programs {
		count[p.Namespace]++
	}
	return count, nil
}
