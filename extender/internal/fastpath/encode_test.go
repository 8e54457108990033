package fastpath

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/placement"
)

func FuzzAnswers(f *testing.F) {
	f.Add("node-1", "GPU memory: 8GiB asked", int8(10))
	f.Add("\"\\\x00<ä\xff", "\n", int8(-1))
	f.Fuzz(func(t *testing.T, node, reason string, points int8) {
		full := &placement.Status{Reason: reason + "f"}
		small := &placement.Status{Reason: reason + "s", Unresolvable: true}
		names := []string{node, node + "b", "c", "d" + node, "e"}
		for _, statuses := range [][]*placement.Status{
			{}, {nil}, {full, full}, {small, nil, small}, {nil, small, full, full}, {full, small, full, nil, nil},
		} {
			nodes := names[:len(statuses)]
			compareJSON(t, AppendFilterResult(nil, nodes, statuses), referenceFilterResult(nodes, statuses))
		}
		compareJSON(t, AppendHostPriorities(nil, nil, nil), referenceHostPriorities(nil, nil))
		nodes, rated := []string{"a", node, "b", node}, []int8{0, points | 1, 0, 1}
		compareJSON(t, AppendHostPriorities(nil, nodes, rated), referenceHostPriorities(nodes, rated))
	})
}

func FuzzPlain(f *testing.F) {
	for _, text := range []string{
		"", "node-1", "gpu-node-00001", "12345678", "a\\345678", "1234567\"", "\x7f2345678", "1234567\x80", "\x1f",
		"~ ~ ~ ~ ~ ~ ~ ~ \x00",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		require.Equal(t, referencePlain(text), plain(text), "%q", text)
	})
}

// compareJSON requires that a reader of the answer gets what encoding/json would have sent.
func compareJSON[T any](t *testing.T, answer []byte, reference T) {
	t.Helper()
	encoded, err := json.Marshal(reference)
	require.NoError(t, err)
	var want, got T
	require.NoError(t, json.Unmarshal(encoded, &want))
	require.NoError(t, json.Unmarshal(answer, &got))
	require.Equal(t, want, got)
}
