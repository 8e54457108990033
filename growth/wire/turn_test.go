package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGate_Lines(t *testing.T) {
	for name, tc := range map[string]struct {
		gate Gate
		line string
	}{
		"the first line": {
			Gate{State: GateOpen},
			`{"v":1,"type":"gate","state":"open","sequence":0,"step":0,"steps":0,"held_seconds":0}`,
		},
		"stopped after a step": {
			Gate{State: GateClosed, Sequence: 7, Step: 1200, Steps: 31, HeldSeconds: 0.5},
			`{"v":1,"type":"gate","state":"closed","sequence":7,"step":1200,"steps":31,"held_seconds":0.5}`,
		},
		"waits for data": {
			Gate{State: GateIdle, Sequence: 7, Step: 1201, Steps: 1, HeldSeconds: 1.5e-7},
			`{"v":1,"type":"gate","state":"idle","sequence":7,"step":1201,"steps":1,"held_seconds":1.5e-7}`,
		},
		"a rank": {
			Gate{State: GateOpen, Sequence: 8, Step: 40, Process: Process{Rank: new(1), LocalRank: new(0), WorldSize: 2}},
			`{"v":1,"type":"gate","state":"open","sequence":8,"step":40,"steps":0,"held_seconds":0,"rank":1,"local_rank":0,"world_size":2}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			line, err := Encode(tc.gate)
			require.NoError(t, err)
			require.Equal(t, tc.line+"\n", string(line))
			_, ok := quickGate(line)
			require.True(t, ok, "the usual line needs no encoding/json")
			back, err := DecodeGate(line)
			require.NoError(t, err)
			require.Equal(t, tc.gate, back)
		})
	}
}

func TestTurn_Lines(t *testing.T) {
	for name, tc := range map[string]struct {
		turn Turn
		line string
	}{
		"compute":           {Turn{Sequence: 1, Hold: true}, `{"v":1,"type":"turn","sequence":1,"hold":true}`},
		"stop":              {Turn{Sequence: 2}, `{"v":1,"type":"turn","sequence":2,"hold":false}`},
		"stop after a step": {Turn{Sequence: 3, AfterStep: 44}, `{"v":1,"type":"turn","sequence":3,"hold":false,"after_step":44}`},
	} {
		t.Run(name, func(t *testing.T) {
			line, err := Encode(tc.turn)
			require.NoError(t, err)
			require.Equal(t, tc.line+"\n", string(line))
			back, err := DecodeTurn(line)
			require.NoError(t, err)
			require.Equal(t, tc.turn, back)
		})
	}
}

func TestDecodeGate_LeavesOtherLinesToEncodingJSON(t *testing.T) {
	for name, line := range map[string]string{
		"spaces":        `{"v":1, "type":"gate","state":"open"}`,
		"another order": `{"type":"gate","v":1,"state":"open"}`,
		"a newer field": `{"v":1,"type":"gate","state":"open","mood":"good, really"}`,
		"an escape":     `{"v":1,"type":"gate","state":"\u006fpen"}`,
		"null":          `{"v":1,"type":"gate","state":"open","rank":null}`,
	} {
		_, ok := quickGate([]byte(line))
		require.False(t, ok, name)
		gate, err := DecodeGate([]byte(line))
		require.NoError(t, err, name)
		require.Equal(t, Gate{State: GateOpen}, gate, name)
	}
}

func TestTurnSocket_RejectsInvalidLines(t *testing.T) {
	gate := func(line string) error { _, err := DecodeGate([]byte(line)); return err }
	turn := func(line string) error { _, err := DecodeTurn([]byte(line)); return err }
	for name, err := range map[string]error{
		"an empty line":       gate(``),
		"garbage":             gate(`closed`),
		"a truncated line":    gate(`{"v":1,"type":"gate","state":"open"`),
		"a trailing comma":    gate(`{"v":1,"type":"gate","state":"open",}`),
		"two objects":         gate(`{"v":1,"type":"gate","state":"open"}}`),
		"no state":            gate(`{"v":1,"type":"gate","sequence":1}`),
		"an unknown state":    gate(`{"v":1,"type":"gate","state":"ajar"}`),
		"a future version":    gate(`{"v":2,"type":"gate","state":"open"}`),
		"a negative step":     gate(`{"v":1,"type":"gate","state":"open","step":-1}`),
		"a leading zero":      gate(`{"v":1,"type":"gate","state":"open","step":01}`),
		"a fraction":          gate(`{"v":1,"type":"gate","state":"open","step":1.5}`),
		"a huge sequence":     gate(`{"v":1,"type":"gate","state":"open","sequence":9007199254740993}`),
		"negative seconds":    gate(`{"v":1,"type":"gate","state":"open","held_seconds":-0.1}`),
		"endless seconds":     gate(`{"v":1,"type":"gate","state":"open","held_seconds":1e9}`),
		"infinite seconds":    gate(`{"v":1,"type":"gate","state":"open","held_seconds":1e999}`),
		"seconds in hex":      gate(`{"v":1,"type":"gate","state":"open","held_seconds":0x1p-2}`),
		"seconds as text":     gate(`{"v":1,"type":"gate","state":"open","held_seconds":"1"}`),
		"a rank outside":      gate(`{"v":1,"type":"gate","state":"open","rank":2,"world_size":2}`),
		"a long line":         gate(`{"v":1,"type":"gate","state":"open"` + strings.Repeat(" ", MaxTurnLine) + `}`),
		"not UTF-8":           gate("{\"v\":1,\"type\":\"gate\",\"state\":\"open\",\"note\":\"\xff\"}"),
		"a negative sequence": turn(`{"v":1,"type":"turn","sequence":-1,"hold":true}`),
		"hold as a number":    turn(`{"v":1,"type":"turn","sequence":1,"hold":1}`),
		"a step in the past":  turn(`{"v":1,"type":"turn","sequence":1,"after_step":-1}`),
		"hold after a step":   turn(`{"v":1,"type":"turn","sequence":1,"hold":true,"after_step":4}`),
	} {
		require.ErrorIs(t, err, ErrMalformed, name)
	}
	require.ErrorIs(t, gate(`{"v":1,"type":"turn","sequence":1,"hold":true}`), ErrUnknownType)
	require.ErrorIs(t, turn(`{"v":1,"type":"config","generation":1}`), ErrUnknownType)
	_, err := Decode([]byte(`{"v":1,"type":"gate","state":"open"}`))
	require.ErrorIs(t, err, ErrUnknownType, "the job's other socket has no gates")
}

// FuzzDecodeGate compares quickGate with encoding/json, and each accepted gate with its own encoding.
func FuzzDecodeGate(f *testing.F) {
	f.Add([]byte(`{"v":1,"type":"gate","state":"closed","sequence":7,"step":1200,"steps":31,"held_seconds":0.5,"rank":1,"local_rank":0,"world_size":2}`))
	f.Add([]byte(`{"v":1,"type":"gate","state":"idle","held_seconds":-0.0,"held_seconds":1E-2,"step":3,"step":0}`))
	f.Add([]byte(`{"v":1,"type":"gate","state":"open","rank":null,"note":"a,b}"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if quick, ok := quickGate(line); ok {
			var whole struct {
				envelope
				Gate
			}
			require.NoError(t, json.Unmarshal(line, &whole), "%s", line)
			require.Equal(t, envelope{Version: Version, Type: "gate"}, whole.envelope)
			require.Equal(t, whole.Gate, quick, "%s", line)
		}
		gate, err := DecodeGate(line)
		if err != nil {
			return
		}
		again, err := Encode(gate)
		require.NoError(t, err)
		back, err := DecodeGate(again)
		require.NoError(t, err, "DecodeGate rejects its own encoding %s", again)
		require.Equal(t, gate, back)
	})
}

func FuzzDecodeTurn(f *testing.F) {
	f.Add([]byte(`{"v":1,"type":"turn","sequence":3,"hold":false,"after_step":44}`))
	f.Add([]byte(`{"v":1,"type":"turn","sequence":1,"hold":true,"note":"unknown fields are skipped"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		turn, err := DecodeTurn(line)
		if err != nil {
			return
		}
		again, err := Encode(turn)
		require.NoError(t, err)
		back, err := DecodeTurn(again)
		require.NoError(t, err, "DecodeTurn rejects its own encoding %s", again)
		require.Equal(t, turn, back)
	})
}

func BenchmarkDecodeGate(b *testing.B) {
	line := []byte(`{"v":1,"type":"gate","state":"closed","sequence":7,"step":1200,"steps":31,"held_seconds":0.512345678}` + "\n")
	for b.Loop() {
		if _, err := DecodeGate(line); err != nil {
			b.Fatal(err)
		}
	}
}
