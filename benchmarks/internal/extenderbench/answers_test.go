package extenderbench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/hiccup"
)

func TestTailIsToldWithAndWithoutHiccups(t *testing.T) {
	const ms = time.Millisecond
	var asked answers
	for i := range 100 { // ten milliseconds apart, one each
		at := time.Duration(10*i) * ms
		asked = append(asked, answer{ms, hiccup.Span{From: at, To: at + ms}})
	}
	asked[40] = answer{9 * ms, hiccup.Span{From: 400 * ms, To: 409 * ms}}
	asked[70] = answer{5 * ms, hiccup.Span{From: 700 * ms, To: 705 * ms}} // nobody but who was asked is to blame
	require.Equal(t, Tail{P99OverP50: 9, Calm: 9}, asked.tail(nil), "nobody watched")
	require.Equal(t, Tail{P99OverP50: 9, Calm: 5, Still: 1}, asked.tail(hiccup.Spans{{From: 402 * ms, To: 408 * ms}, {From: 706 * ms, To: 709 * ms}}))
}
