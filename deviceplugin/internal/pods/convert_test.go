package pods

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestConvert_KeepsGPUIndex(t *testing.T) {
	var p pod
	require.Nil(t, convert(p, "aliyun.com/gpu-mem").GPUIndex)
	p.Metadata.Annotations = map[string]string{"ALIYUN_COM_GPU_MEM_IDX": "3"}
	require.Equal(t, 3, *convert(p, "aliyun.com/gpu-mem").GPUIndex)
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
