package signalsave

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func replaceFile(text, path string) string { return strings.ReplaceAll(text, "/FILE", path) }

const status = " S 1 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 9000000 321"

func TestParseStat(t *testing.T) {
	for content, want := range map[string]process{
		"12 (python3)" + status:              {name: "python3", state: "S", start: 4711},
		"12 (a) R 1 (b)" + status:            {name: "a) R 1 (b", state: "S", start: 4711},
		"12 (" + "tab\tand )" + ")" + status: {name: "tab\tand )", state: "S", start: 4711},
	} {
		got, err := parseStat(content)
		require.NoError(t, err, content)
		require.Equal(t, want, got)
	}
	for _, malformed := range []string{"", "12", "12 (python3", "12 (python3) S 1 2", "12 (python3)" + strings.Replace(status, "4711", "x", 1)} {
		_, err := parseStat(malformed)
		require.Error(t, err, malformed)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("12 (python3)" + status)
	f.Add("12 () )) (")
	f.Fuzz(func(t *testing.T, content string) {
		p, err := parseStat(content)
		if err == nil {
			require.NotEmpty(t, p.state)
		}
	})
}

func TestMask(t *testing.T) {
	const text = "Name:\tx\nSigIgn:\t0000000000000004\nSigCgt:\t0000000000000200\n"
	require.Equal(t, uint64(0x200), mask(text, "SigCgt:"))
	require.Equal(t, uint64(4), mask(text, "SigIgn:"))
	require.Zero(t, mask(text, "SigBlk:"))
	require.Zero(t, mask("SigCgt:\tx", "SigCgt:"))
}
