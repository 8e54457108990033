package webhook_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/extender/internal/request"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// TestHandler_AcceptsUnknownFields adds unknown fields to a recorded body, on every level that has a type. The scheduler gets
// the same request, and whole nodes are returned with all their fields.
func TestHandler_AcceptsUnknownFields(t *testing.T) {
	for _, form := range []string{"names", "nodes"} {
		t.Run(form, func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join("testdata", "v1.36.4", "pair", form+"-filter.json"))
			require.NoError(t, err)
			var args map[string]any
			require.NoError(t, json.Unmarshal(body, &args))
			before, after := &fakeScheduler{}, &fakeScheduler{}
			require.Equal(t, 200, post(before, "/filter", string(body)).Code)

			pod := args["Pod"].(map[string]any)
			spec := pod["spec"].(map[string]any)
			known := []any{args, pod, pod["metadata"], spec}
			known = append(known, spec["containers"].([]any)...)
			known = append(known, spec["initContainers"].([]any)...)
			if nodes, whole := args["Nodes"].(map[string]any); whole {
				known = append(known, nodes)
				for _, node := range nodes["items"].([]any) {
					known = append(known, node, node.(map[string]any)["spec"], node.(map[string]any)["status"], node.(map[string]any)["metadata"])
				}
			}
			for _, object := range known {
				object.(map[string]any)["inventedLater"] = map[string]any{"deep": []any{1.0, "x", nil}}
			}
			newer, err := json.Marshal(args)
			require.NoError(t, err)
			answer := post(after, "/filter", string(newer))
			require.Equal(t, 200, answer.Code, answer.Body)

			require.ElementsMatch(t, before.nodes, after.nodes)
			want, _ := request.Read(before.pod, gpushare.Resource)
			got, requests := request.Read(after.pod, gpushare.Resource)
			require.True(t, requests)
			require.Equal(t, want, got)
			if form == "names" {
				return
			}
			var result struct {
				Nodes struct{ Items []map[string]any }
			}
			require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &result))
			require.Len(t, result.Nodes.Items, 1)
			for _, node := range args["Nodes"].(map[string]any)["items"].([]any) {
				if node.(map[string]any)["metadata"].(map[string]any)["name"] == "node-1" {
					require.Equal(t, node, any(result.Nodes.Items[0]))
				}
			}
		})
	}
}
