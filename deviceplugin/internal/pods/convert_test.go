package pods

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestConvert_KeepsGPUIndex(t *testing.T) {
	var p pod
	require.Nil(t, convert(p, "aliyun.com/gpu-mem").GPUIndex)
	p.Metadata.Annotations = map[string]string{"ALIYUN_COM_GPU_MEM_IDX": "3"}
	require.Equal(t, 3, *convert(p, "aliyun.com/gpu-mem").GPUIndex)
}

func TestConvert_KeepsWhatWasSavedBeforeAMove(t *testing.T) {
	saved := gpushare.Saved{Request: "user", Step: 41, SHA256: strings.Repeat("0f", 32), Path: "/ckpt/a.pt"}
	before := saved.BeforeMove("0198-1")
	for name, tc := range map[string]struct {
		annotation string
		want       *gpushare.Saved
	}{
		"the job has moved":    {before.String(), &before},
		"an answer of its own": {saved.String(), nil},
		"it could not save":    {gpushare.Saved{Request: "user", Failed: "disk full"}.String(), nil},
		"nothing":              {"", nil},
		"no checkpoint":        {"x", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var p pod
			p.Metadata.Annotations = map[string]string{gpushare.SavedAnnotation: tc.annotation}
			require.Equal(t, tc.want, convert(p, "r").Saved)
		})
	}
}

// A pod may ask by its limit alone, without gpushare/gpu-mem.
func TestConvert_KeepsGPUCores(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        int
	}{
		"by annotation":    {map[string]string{gpushare.MemoryAnnotation: "4Gi", gpushare.CoresAnnotation: "30"}, 30},
		"by limits":        {map[string]string{gpushare.CoresAnnotation: "30"}, 30},
		"an invalid value": {map[string]string{gpushare.CoresAnnotation: "300"}, 0},
		"none":             {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var p pod
			p.Metadata.Annotations = tc.annotations
			require.EqualValues(t, tc.want, convert(p, "r").Cores)
		})
	}
}

func TestParseQuantity_CanonicalForms(t *testing.T) {
	for _, n := range []int64{0, 1, 8, 140, 999, 1000, 1001, 1024, 2000, 4096, 12_000, 1 << 20, 3_000_000} {
		for _, format := range []resource.Format{resource.DecimalSI, resource.BinarySI} {
			text := resource.NewQuantity(n, format).String()
			require.Equal(t, int(n), parseQuantity(text), text)
		}
	}
	for _, invalid := range []string{"", "x", "1.5", "k", "-", "9999999999999999999"} {
		require.Zero(t, parseQuantity(invalid), invalid)
	}
}

func TestConvert_RunningContainers(t *testing.T) {
	var p pod
	require.NoError(t, json.Unmarshal([]byte(`{
		"spec": {
			"initContainers": [{"name": "cache", "restartPolicy": "Always", "resources": {"limits": {"r": "1"}}}],
			"containers": [
				{"name": "train", "resources": {"limits": {"r": "4"}}},
				{"name": "crashed", "resources": {"limits": {"r": "2"}}},
				{"name": "new", "resources": {"limits": {"r": "3"}}}
			]
		},
		"status": {
			"initContainerStatuses": [{"name": "cache", "state": {"running": {"startedAt": "2026-11-20T08:00:00Z"}}}],
			"containerStatuses": [
				{"name": "train", "state": {"running": {"startedAt": "2026-11-20T08:00:00Z"}}},
				{"name": "crashed", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
			]
		}}`), &p))
	require.Equal(t, []Container{
		{Name: "cache", Units: 1, Running: true},
		{Name: "train", Units: 4, Running: true},
		{Name: "crashed", Units: 2},
		{Name: "new", Units: 3},
	}, convert(p, "r").Containers)
}
