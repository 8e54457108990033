package records_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/bus"

	"github.com/trellis-gpu/trellis/daemon/records"
)

// sample has a field of each type that a record may have, and one that is unknown.
const sample = `{"v":1,"pod":{"namespace":"team-a","name":"train","uid":"0a1b"},"node":"node-1","gpus":["GPU-0"],"step":100,"value":0.0625,` +
	`"reported":true,"category":"Progressing","state":{"version":1,"text":"é\ud800"},"stepSeconds":0.25,"loaders":3,"tunable":["loaders"],` +
	`"eta":{"likely":"2026-03-04T05:06:07Z"},"batch":{"range":{"default":64,"min":8,"max":1024},"points":[]},"later":[1]}`

func FuzzRead_AgreesWithEncodingJSON(f *testing.F) {
	for _, seed := range []string{
		sample, `{"v":1}`, `{"v":2}`, `{"V":1,"STEP":7}`, `{"v":1,"step":1,"step":2}`, `{"v":1,"gpus":null,"loaders":null}`, `null`, ``, `{"v":1}{}`,
		`{"v":1,"value":1e400}`, `{"v":1,"step":1.5}`, `{"v":1,"node":"` + "\xff" + `"}`, `{"v":1,"program":"x"}`, `{"v":1,"eta":{"likely":"soon"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		want, failed := bus.Read[bus.Sample](value, json.Unmarshal)
		got, err := records.Read[bus.Sample](value)
		require.Equal(t, failed == nil, err == nil, "%v, and not %v", err, failed)
		require.Equal(t, errors.Is(failed, bus.ErrVersion), errors.Is(err, bus.ErrVersion))
		require.Equal(t, want, got)
	})
}

func TestRead_ReadsAllFields(t *testing.T) {
	got, err := records.Read[bus.Sample]([]byte(sample))
	require.NoError(t, err)
	require.EqualValues(t, 100, got.Step)
	require.Equal(t, 3, *got.Loaders)
	require.Equal(t, 64, got.Batch.Range.Default)
	require.Equal(t, 2026, got.ETA.Likely.Year())
	require.JSONEq(t, `{"version":1,"text":"é\ud800"}`, string(got.State))
}
