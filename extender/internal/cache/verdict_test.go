package cache

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth/placement"
)

// TestAVerdictIsOfItsPicture has many remember and recall at once, on old pictures and new ones, while the sheet grows. What
// is recalled is about the picture it was asked for, or nothing.
func TestAVerdictIsOfItsPicture(t *testing.T) {
	const places, pictures = 4, 50
	about := func(picture uint64) Verdict {
		if picture%3 == 0 {
			return Verdict{Misfit: &placement.Status{Reason: strconv.FormatUint(picture, 10)}}
		}
		return Verdict{Score: placement.Score(picture)}
	}
	var verdicts Verdicts
	var wg sync.WaitGroup
	for seed := range uint64(8) {
		wg.Go(func() {
			dice := rand.New(rand.NewPCG(seed, 0))
			for i := range 5000 {
				sheet := verdicts.On(Question{}, places+i/100)
				seat := Seat{Place: dice.IntN(places), picture: 1 + dice.Uint64N(pictures)}
				if dice.IntN(2) == 0 {
					sheet.Remember(seat, about(seat.picture))
				} else if verdict, known := sheet.Recall(seat); known && !equal(verdict, about(seat.picture)) {
					t.Errorf("%+v is recalled of picture %d", verdict, seat.picture)
				}
			}
		})
	}
	wg.Wait()
}

func equal(a, b Verdict) bool {
	return a.Score == b.Score && (a.Misfit == nil) == (b.Misfit == nil) && (a.Misfit == nil || *a.Misfit == *b.Misfit)
}

func TestWhatIsRememberedOutlivesGrowth(t *testing.T) {
	var verdicts Verdicts
	fits, crowded := Seat{Place: 0, picture: 1}, Seat{Place: 1, picture: 2}
	sheet := verdicts.On(Question{}, 2)
	sheet.Remember(fits, Verdict{Score: 0.5})
	sheet.Remember(crowded, Verdict{Misfit: &placement.Status{Reason: "full"}})
	sheet = verdicts.On(Question{}, 100)
	verdict, known := sheet.Recall(fits)
	require.True(t, known)
	require.Equal(t, Verdict{Score: 0.5}, verdict)
	verdict, known = sheet.Recall(crowded)
	require.True(t, known)
	require.Equal(t, "full", verdict.Misfit.Reason)
	for _, unknown := range []Seat{{Place: 0, picture: 2}, {Place: 1, picture: 1}, {Place: 99, picture: 1}, {Place: 2, picture: inWriting}} {
		_, known = sheet.Recall(unknown)
		require.False(t, known)
	}
}
