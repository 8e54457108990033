package wire

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/trellis-gpu/trellis/growth"
)

// quickGate parses a gate line as the shim writes it, without spaces, escapes and unknown fields. The next holder of a
// GPU waits for it. A line that quickGate rejects is left to encoding/json. For a line that it accepts, the result
// equals that of encoding/json.
func quickGate(line []byte) (g Gate, ok bool) {
	rest, ok := bytes.CutPrefix(bytes.TrimSuffix(line, []byte("\n")), []byte(`{"v":1,"type":"gate",`))
	for ok && len(line) <= MaxTurnLine {
		end := bytes.IndexAny(rest, ",}")
		if end < 0 {
			return g, false
		}
		name, value, found := bytes.Cut(rest[:end], []byte(":"))
		if !found || !g.set(string(name), value) {
			return g, false
		}
		if rest[end] == '}' {
			return g, end == len(rest)-1
		}
		rest = rest[end+1:]
	}
	return g, false
}

// set sets a field from its name in quotes and its value, both as they are on the wire.
func (g *Gate) set(name string, value []byte) bool {
	switch name {
	case `"state"`:
		return g.setState(string(value))
	case `"sequence"`:
		return setCount(&g.Sequence, value)
	case `"step"`:
		return setCount(&g.Step, value)
	case `"steps"`:
		return setCount(&g.Steps, value)
	case `"held_seconds"`:
		return setSeconds(&g.HeldSeconds, value)
	case `"rank"`:
		return setRank(&g.Rank, value)
	case `"local_rank"`:
		return setRank(&g.LocalRank, value)
	case `"world_size"`:
		var size *int
		ok := setRank(&size, value)
		if ok {
			g.WorldSize = *size
		}
		return ok
	}
	return false
}

func (g *Gate) setState(value string) bool {
	switch value {
	case `"open"`:
		g.State = GateOpen
	case `"closed"`:
		g.State = GateClosed
	case `"idle"`:
		g.State = GateIdle
	default:
		return false
	}
	return true
}

// setCount reads a number without a sign. Sixteen digits exceed maxCount.
func setCount(into *int64, value []byte) bool {
	if len(value) == 0 || len(value) > 16 || value[0] == '0' && len(value) > 1 {
		return false
	}
	n := int64(0)
	for _, digit := range value {
		if digit < '0' || digit > '9' {
			return false
		}
		n = 10*n + int64(digit-'0')
	}
	*into = n
	return true
}

func setRank(into **int, value []byte) bool {
	var n int64
	if !setCount(&n, value) || n > MaxRanks {
		return false
	}
	*into = new(int(n))
	return true
}

// setSeconds reads a number in JSON's grammar, which is stricter than that of strconv.
func setSeconds(into *growth.Seconds, value []byte) bool {
	if len(value) == 0 || value[0] == '"' || !json.Valid(value) {
		return false
	}
	n, err := strconv.ParseFloat(string(value), 64)
	*into = growth.Seconds(n)
	return err == nil
}
