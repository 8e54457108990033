package gpushare_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestUnknown(t *testing.T) {
	known := map[string]string{"team": "vision", "kubernetes.io/config.source": "api", "gpushare.example.com/gpu-mem": "1", "gpushare": ""}
	for _, name := range append(gpushare.UserAnnotations(), gpushare.WrittenAnnotations()...) {
		known[name] = "1"
	}
	require.Empty(t, gpushare.Unknown(nil))
	require.Empty(t, gpushare.Unknown(known))
	known["gpushare/metrics"], known["GPUShare/gpu-mem"] = "loss", "1"
	require.Equal(t, []string{"GPUShare/gpu-mem", "gpushare/metrics"}, gpushare.Unknown(known))
}

func TestNearest_FindsEachNameWithOneMistake(t *testing.T) {
	for _, name := range gpushare.UserAnnotations() {
		word := strings.TrimPrefix(name, "gpushare/")
		require.Equal(t, name, gpushare.Nearest(strings.ToUpper(name)))
		for i := range word {
			require.Equal(t, name, gpushare.Nearest("gpushare/"+word[:i]+word[i:i+1]+word[i:]), "letter %d of %s doubled", i, word)
			if len(word) > len("tune") {
				require.Equal(t, name, gpushare.Nearest("gpushare/"+word[:i]+word[i+1:]), "letter %d of %s left out", i, word)
			}
		}
	}
}

func TestUnknownMessage_WithoutANearestName(t *testing.T) {
	require.Equal(t, "annotation gpushare/quux is not known. Users set gpushare/gpu-mem, gpu-count, gpu-cores, metric, target, priority, deadline, elastic, gang, progress, tune, checkpoint, checkpoint-path, checkpoint-volume, paused, save and move",
		gpushare.UnknownMessage("gpushare/quux"))
}

func TestRequestsShare(t *testing.T) {
	require.True(t, gpushare.RequestsShare(map[string]string{gpushare.MemoryAnnotation: "1"}))
	require.False(t, gpushare.RequestsShare(map[string]string{gpushare.MetricAnnotation: "loss"}))
	require.False(t, gpushare.RequestsShare(map[string]string{gpushare.MemoryAnnotation: "1", "kubernetes.io/config.mirror": "m"}))
}

func FuzzNearest(f *testing.F) {
	f.Add("gpushare/gpu-memory")
	f.Add("no slash")
	f.Add("/")
	f.Fuzz(func(t *testing.T, name string) {
		if nearest := gpushare.Nearest(name); nearest != "" {
			require.Contains(t, gpushare.UserAnnotations(), nearest)
		}
	})
}
