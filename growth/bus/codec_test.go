package bus_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/bus"
)

// rewrite decodes and encodes a record, as a writer does that changes it.
func rewrite[T any, R bus.Record[T]](value []byte) ([]byte, error) {
	record, err := bus.Decode[T, R](value)
	if err != nil {
		return nil, err
	}
	return bus.Encode[T, R](record)
}

// rewrites has a rewrite function for every record type.
var rewrites = map[string]func([]byte) ([]byte, error){
	"NodeGPUs":    rewrite[bus.NodeGPUs],
	"Reservation": rewrite[bus.Reservation],
	"Epoch":       rewrite[bus.Epoch],
	"Allocation":  rewrite[bus.Allocation],
	"NodeLoad":    rewrite[bus.NodeLoad],
	"Sample":      rewrite[bus.Sample],
	"Advice":      rewrite[bus.Advice],
}

func TestEncode_KeepsUnknownFields(t *testing.T) {
	for name, rewrite := range rewrites {
		t.Run(name, func(t *testing.T) {
			out, err := rewrite([]byte(`{"v":1,"mood":{"of":["the","day"]},"zeal":7}`))
			require.NoError(t, err)
			require.Contains(t, string(out), `"mood":{"of":["the","day"]}`)
			require.Contains(t, string(out), `"zeal":7`)
			require.Equal(t, 1, strings.Count(string(out), `"v":1`))
		})
	}
}

func TestDecode_IgnoresUnknownFieldsOfNestedStructs(t *testing.T) {
	out, err := rewrite[bus.Allocation]([]byte(`{"v":1,"pod":{"uid":"u","mood":1},"zeal":7}`))
	require.NoError(t, err)
	require.Contains(t, string(out), `"uid":"u"`)
	require.Contains(t, string(out), `"zeal":7`)
}

func TestDecode_DoesNotKeepKnownFieldsAsUnknown(t *testing.T) {
	advice, err := bus.Decode[bus.Advice]([]byte(`{"v":1,"GENERATION":3,"loaders":2,"x":1}`))
	require.NoError(t, err)
	require.Equal(t, int64(3), advice.Generation)
	require.Len(t, advice.Unknown, 1)
	advice.Generation, advice.Loaders = 4, nil
	out, err := bus.Encode(advice)
	require.NoError(t, err)
	require.JSONEq(t, `{"v":1,"generation":4,"x":1}`, string(out), "a cleared field must stay cleared")
}

func TestDecode_RejectsUnknownVersions(t *testing.T) {
	for name, rewrite := range rewrites {
		t.Run(name, func(t *testing.T) {
			for _, value := range []string{`{"v":2}`, `{"v":0}`, `{}`, `{"v":-1}`} {
				_, err := rewrite([]byte(value))
				require.ErrorIs(t, err, bus.ErrVersion)
				require.ErrorContains(t, err, name)
			}
		})
	}
}

func TestDecode_RejectsInvalidRecords(t *testing.T) {
	for name, value := range map[string]string{
		"an empty value": "", "not JSON": "gpus", "not an object": `[1]`, "null": "null", "a wrong type": `{"v":1,"generation":"three"}`,
		"two values": `{"v":1}{"v":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := bus.Decode[bus.Advice]([]byte(value))
			require.Error(t, err)
		})
	}
}

func TestRead_IsDecodeWithoutUnknownFields(t *testing.T) {
	value := []byte(`{"v":1,"loaderBudget":3,"zeal":7,"pressure":{"cpu":0.5,"mood":1}}`)
	read, err := bus.Read[bus.NodeLoad](value, json.Unmarshal)
	require.NoError(t, err)
	require.Equal(t, bus.NodeLoad{Header: bus.Header{Version: 1}, LoaderBudget: 3, Pressure: &bus.Pressure{CPU: .5}}, read)
	for name, value := range map[string]string{
		"an empty value": "", "not JSON": "load", "not an object": `[1]`, "a wrong type": `{"v":1,"loaderBudget":"three"}`, "two values": `{"v":1}{"v":1}`,
		"too large": `{"v":1,"policy":"` + strings.Repeat("a", bus.MaxValue) + `"}`,
	} {
		_, err := bus.Read[bus.NodeLoad]([]byte(value), json.Unmarshal)
		require.ErrorContains(t, err, "NodeLoad", name)
		require.NotErrorIs(t, err, bus.ErrVersion, name)
	}
	for _, value := range []string{`{"v":2}`, `{"v":2,"loaderBudget":"three"}`, `{"v":0}`, `{}`, `null`} {
		_, err := bus.Read[bus.NodeLoad]([]byte(value), json.Unmarshal)
		require.ErrorIs(t, err, bus.ErrVersion, value)
	}
}

func FuzzRead_AgreesWithDecode(f *testing.F) {
	for _, seed := range []string{`{"v":1}`, `{"v":2}`, `{"v":1,"growth":1e308,"later":{}}`, `{"V":1,"state":[1]}`, `null`, ``, `{"v":1}{}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		decoded, failed := bus.Decode[bus.Sample](value)
		read, err := bus.Read[bus.Sample](value, json.Unmarshal)
		require.Equal(t, failed == nil, err == nil)
		require.Equal(t, errors.Is(failed, bus.ErrVersion), errors.Is(err, bus.ErrVersion))
		decoded.Unknown = nil
		require.Equal(t, decoded, read)
	})
}

func TestEncode_LimitsTheSize(t *testing.T) {
	_, err := bus.Encode(bus.Advice{Reason: strings.Repeat("a", bus.MaxValue)})
	require.ErrorContains(t, err, "at most")
	_, err = bus.Decode[bus.Advice]([]byte(`{"v":1,"reason":"` + strings.Repeat("a", bus.MaxValue) + `"}`))
	require.ErrorContains(t, err, "at most")
	require.NotErrorIs(t, err, bus.ErrVersion)
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"v":1}`, `{"v":2}`, `{"v":1,"gpus":[{"uuid":"GPU-0","memoryMiB":1024}]}`, `{"v":1,"loaders":null,"later":[1,{"a":"<"}]}`,
		`{"V":1,"generation":9223372036854775807}`, `{"v":1,"-":1}`, `{"v":1,"pod":{"uid":"u"},"growth":1e308}`, `null`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		for _, rewrite := range rewrites {
			once, err := rewrite(value)
			if err != nil {
				continue
			}
			twice, err := rewrite(once)
			require.NoError(t, err)
			require.Equal(t, string(once), string(twice), "a rewrite must be idempotent")
		}
	})
}
