package lines_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
)

func TestReader_FindsTheGroupsOfTheExpression(t *testing.T) {
	for name, tc := range map[string]struct {
		pattern, line string
		value         float64
		step, total   int64
	}{
		"the first group":      {`loss[=:] ?([-0-9.eE]+)`, "epoch 3 loss: 2.5e-1 ok", 0.25, 1, 0},
		"a step before it":     {`step (?P<step>\d+).*loss ([0-9.]+)`, "step 17 loss 0.5", 0.5, 17, 0},
		"a step after it":      {`loss ([0-9.]+).*step (?P<step>\d+)`, "loss 0.5 step 17", 0.5, 17, 0},
		"a step and a total":   {`(?P<step>\d+)/(?P<total>\d+): ([0-9.]+)`, "17/90: 0.5", 0.5, 17, 90},
		"a step as only group": {`(?P<step>\d+)`, "17", 17, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p, counted, ok := lines.NewReader("loss", regexp.MustCompile(tc.pattern)).Read([]byte(tc.line))
			require.True(t, ok)
			require.Equal(t, tc.value, p.Metrics[0].Value)
			require.Equal(t, []int64{tc.step, tc.total}, []int64{p.Step, p.TotalSteps})
			require.Equal(t, tc.step == 1, counted)
		})
	}
}

func TestPlain_ReadsNumbersNamesAndJSON(t *testing.T) {
	for line, want := range map[string]struct {
		value       float64
		step, total int64
	}{
		"0.25":              {.25, 1, 0},
		"  -2.5e-3\t":       {-.0025, 1, 0},
		"loss=0.25":         {.25, 1, 0},
		"step 17 loss: .25": {.25, 17, 0},
		"[Step 17/1000] lr=0.1 loss=0.25, acc=0.9":    {.25, 17, 1000},
		`{"step": 17, "total": 1000, "loss": 0.25}`:   {.25, 17, 1000},
		`{"loss": 0.25, "val_loss": 0.5, "step": 17}`: {.25, 17, 0},
		"val_loss=9 train.loss=8 loss=0.25":           {.25, 1, 0},
	} {
		p, _, ok := lines.NewPlain("loss").Read([]byte(line))
		require.True(t, ok, line)
		require.Equal(t, want.value, p.Metrics[0].Value, line)
		require.Equal(t, []int64{want.step, want.total}, []int64{p.Step, p.TotalSteps}, line)
	}
	for _, line := range []string{
		"",
		"val_loss=9",
		"glossloss=1",
		"loss=high",
		"loss=1.2.3",
		"12 epochs",
		"loss",
		"step 17 loss=0.1x",
		"step 99999999999999999 loss=1",
	} {
		_, _, ok := lines.NewPlain("loss").Read([]byte(line))
		require.False(t, ok, line)
	}
}

func TestReader_CountsReportsWithoutAStep(t *testing.T) {
	r := lines.NewReader("loss", regexp.MustCompile(`loss=(\S+)`))
	for _, line := range []string{"nothing here", "loss=high"} {
		_, _, ok := r.Read([]byte(line))
		require.False(t, ok, line)
	}
	for want := range int64(3) {
		p, counted, ok := r.Read([]byte("loss=1"))
		require.True(t, ok && counted)
		require.Equal(t, want+1, p.Step)
	}
	r.Restart()
	p, _, _ := r.Read([]byte("loss=1"))
	require.Equal(t, int64(1), p.Step)
}

func TestDrain_BoundsOneRead(t *testing.T) {
	text := strings.NewReader(strings.Repeat("x", 3*lines.MaxRead))
	var taken int
	n, err := lines.Drain(text, 0, func(piece []byte) { taken += len(piece) })
	require.NoError(t, err)
	require.Equal(t, int64(lines.MaxRead), n)
	require.Equal(t, lines.MaxRead, taken)
}

func FuzzPlain(f *testing.F) {
	f.Add([]byte(`{"step": 17, "total": 1000, "loss": 0.25}`))
	f.Add([]byte("step 9/10 loss=1e300"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, counted, ok := lines.NewPlain("loss").Read(text)
		if ok && (p.Step < 0 || p.TotalSteps < 0 || len(p.Metrics) != 1 || counted && p.Step != 1) {
			t.Fatalf("%q gave %+v", text, p)
		}
	})
}
