package history

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/loader"
)

// FuzzSample decodes arbitrary samples. They must not affect other jobs, and the fitted throughput must be positive.
func FuzzSample(f *testing.F) {
	f.Add([]byte(`{"v":1,"step":1}`),
		[]byte(`{"v":1,"step":2,"stepSeconds":0.1,"loadSeconds":0.05,"batchSize":32,"loaders":2}`))
	f.Add([]byte(`{"v":2}`), []byte(`[]`))
	f.Add([]byte(`{"v":1,"loaders":-1,"batchSize":-4}`),
		[]byte(`{"v":1,"step":9223372036854775807,"samplesPerSecond":1e300,"stepSeconds":1e300,"loaders":-1}`))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		m := bus.Mirror[*entry]{Decode: decode}
		history := map[growth.PodUID]jobHistory{}
		for i, value := range [][]byte{first, second, first, second} {
			good, err := bus.Encode(steadySample(int64(i)))
			require.NoError(t, err)
			batch := bus.Batch{Revision: bus.Revision(i + 1), Entries: []bus.Entry{
				{
					Key:      bus.SampleKey("fuzzed"),
					Value:    value,
					Revision: 1,
				}, {
					Key:      bus.SampleKey("good"),
					Value:    good,
					Revision: 1,
				},
			}}
			view := m.Apply(batch)
			updateHistories(history, view, batch)
			_, err = json.Marshal(newSnapshot(view, view, view, view, view, history).Jobs[0].Sample)
			require.NoError(t, err)
		}
		require.Len(t, history["good"].measurements, 3)
		for _, rate := range loader.Fit(loader.Published(), history["fuzzed"].measurements).Curve(8) {
			require.Greater(t, float64(rate), 0.)
		}
	})
}
