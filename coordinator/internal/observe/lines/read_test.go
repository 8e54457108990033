package lines_test

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/coordinator/internal/observe/lines"
	"github.com/trellis-gpu/trellis/growth/wire"
)

func TestReader_ReadsNumbersAsProgramsPrintThem(t *testing.T) {
	const digits = `loss=([0-9.]+)`
	inf := math.Inf(1)
	for name, tc := range map[string]struct {
		pattern, line string
		want          float64
	}{
		"an exponent that the expression cuts off": {digits, "loss=2.3e-05 lr=1", 2.3e-5},
		"a fraction that the expression cuts off":  {`loss=(\d+)`, "loss=12.75", 12.75},
		"thousands":                                 {digits, "loss=1,234.5, lr=1", 1234.5},
		"millions":                                  {`loss=(\S+)`, "loss=1,234,567", 1234567},
		"a list is not thousands":                   {digits, "loss=0.5,100", 0.5},
		"a comma after the number":                  {`loss=(\S+)`, "loss=0.5, acc=1", 0.5},
		"the end of a sentence":                     {`loss is ([0-9.]+)`, "The loss is 0.5.", 0.5},
		"quotes":                                    {`loss: (\S+)`, `loss: "0.5"`, 0.5},
		"quotes that the expression lacks":          {`"loss": ([0-9.]+)`, `{"step": "7", "loss": "0.5"}`, 0.5},
		"NaN in quotes":                             {`'loss': ([0-9.]+)`, `{'loss': 'nan', 'epoch': '0.1'}`, math.NaN()},
		"thousands in quotes":                       {`"loss": ([0-9.]+)`, `{"loss": "1,234.5"}`, 1234.5},
		"a tensor":                                  {`loss=(\S+)`, "loss=tensor(0.5, device='cuda:0')", 0.5},
		"per cent":                                  {`acc (\S+)`, "acc 87.5%", 87.5},
		"a unit":                                    {`time ([0-9.]+)`, "time 3.5s", 3.5},
		"text after the number":                     {`loss=(.+)`, "loss=0.5 lr=0.1", 0.5},
		"NaN where digits are expected":             {digits, "loss=nan", math.NaN()},
		"NaN where decimals are expected":           {`loss (\d+\.\d{4})`, "step 6 loss NaN", math.NaN()},
		"two decimals":                              {`loss (\d\.\d\d)$`, "loss nan", math.NaN()},
		"NaN where anything is expected":            {`loss=(\S+)`, "loss=-nan", math.NaN()},
		"NaN that the expression names":             {`loss=(nan|[0-9.]+)`, "loss=nan", math.NaN()},
		"infinity":                                  {digits, "loss=inf", inf},
		"negative infinity":                         {`loss (\S+)`, "step 1850 loss -inf", -inf},
		"infinity in JavaScript":                    {`"loss": ([-0-9.]+)`, `{"loss": -Infinity}`, -inf},
		"a number that is too large":                {`loss=(\S+)`, "loss=1e999", inf},
		"NaN of another metric":                     {digits, "grad=nan loss=0.5 acc=nan", 0.5},
		"a word that contains inf":                  {`loss=(\S+)`, "info loss=0.5", 0.5},
		"NaN in the train loss":                     {digits, "loss=nan val_loss=0.5", math.NaN()},
		"the last match":                            {digits, "loss=3 loss=2 loss=1", 1},
		"the last match that is a number":           {`loss=(\S+)`, "loss=2 loss=n/a", 2},
		"the last of many":                          {digits, strings.Repeat("loss=0.5 ", 500) + "loss=0.25", 0.25},
		"no match inside a word":                    {digits, "loss=0.5 val_loss=0.9", 0.5},
		"inside a word if there is no other":        {digits, "train_loss=0.5", 0.5},
		"Keras":                                     {`loss: (\S+)`, "loss: 0.5 - accuracy: 0.8 - val_loss: 0.6 - val_accuracy: 0.7", 0.5},
		"train and validation":                      {`loss ([0-9.]+)`, "Epoch 3 | train loss 0.48 | val loss 0.51", 0.48},
		"train and validation with labels":          {`loss ([0-9.]+)`, "train: loss 0.48 | val: loss 0.51", 0.48},
		"another metric of the validation before":   {`loss: ([0-9.]+)`, "val_acc: 0.8 loss: 0.5", 0.5},
		"the validation if the expression names it": {`val_loss=([0-9.]+)`, "loss=0.5 val_loss=0.9", 0.9},
	} {
		t.Run(name, func(t *testing.T) {
			p, _, ok := lines.NewReader("loss", regexp.MustCompile(tc.pattern)).Read([]byte(tc.line))
			require.True(t, ok)
			if math.IsNaN(tc.want) {
				require.True(t, math.IsNaN(p.Metrics[0].Value), "%v", p.Metrics)
				return
			}
			require.Equal(t, tc.want, p.Metrics[0].Value)
		})
	}
	for _, line := range []string{"loss=1.2.3", "loss=12,5", "loss=0,5", "loss=2026-11-20", "loss=x1"} {
		_, _, ok := lines.NewReader("loss", regexp.MustCompile(`loss=(\S+)`)).Read([]byte(line))
		require.False(t, ok, line)
	}
}

func TestReader_ReadsCounts(t *testing.T) {
	type counts struct{ step, total, epoch int64 }
	for name, tc := range map[string]struct {
		pattern, line string
		want          counts
	}{
		"thousands":        {`step (?P<step>\d+)/(?P<total>\d+).*loss ([0-9.]+)`, "step 1,200/10,000 loss 1", counts{1200, 10000, 0}},
		"captured in full": {`step (?P<step>[\d,]+) loss ([0-9.]+)`, "step 12,000 loss 1", counts{12000, 0, 0}},
		"an epoch":         {`epoch (?P<epoch>\d+) step (?P<step>\d+): ([0-9.]+)`, "epoch 3 step 40: 0.5", counts{40, 0, 3}},
		"padded":           {`\[ *(?P<step>\d+)/(?P<total>\d+)\].*loss ([0-9.]+)`, "[  10/5005] loss 6.9", counts{10, 5005, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			p, counted, ok := lines.NewReader("loss", regexp.MustCompile(tc.pattern)).Read([]byte(tc.line))
			require.True(t, ok)
			require.False(t, counted)
			require.Equal(t, tc.want, counts{p.Step, p.TotalSteps, p.Epoch})
		})
	}
}

func TestReader_ABarPerEpochIsOneRun(t *testing.T) {
	r := lines.NewReader("loss", regexp.MustCompile(`(?P<step>\d+)/(?P<total>\d+) loss=([0-9.]+)`))
	for _, tc := range []struct {
		line               string
		step, total, epoch int64
	}{
		{"50/100 loss=1", 50, 100, 0},
		{"99/100 loss=1", 99, 100, 0},
		{"1/100 loss=1", 1, 200, 1},
		{"100/100 loss=1", 100, 200, 1},
		{"2/100 loss=1", 2, 300, 2},
		{"80/100 loss=1", 80, 300, 2},
		{"10/100 loss=1", 10, 300, 2}, // a restart from a checkpoint: the bar was not full
	} {
		p, _, ok := r.Read([]byte(tc.line))
		require.True(t, ok)
		require.Equal(t, []int64{tc.step, tc.total, tc.epoch}, []int64{p.Step, p.TotalSteps, p.Epoch}, tc.line)
	}
}

func TestReader_IgnoresEvaluationsOfATrainingJob(t *testing.T) {
	r := lines.NewReader("loss", regexp.MustCompile(`loss[=:] ?([0-9.]+)`))
	read := func(line string) bool {
		_, _, ok := r.Read([]byte(line))
		return ok
	}
	require.True(t, read("Sanity check validation: loss=9"), "a job may print only evaluations")
	for range 3 {
		require.True(t, read("epoch 1: 40%| loss=0.5"))
	}
	for _, line := range []string{
		"eval:  50%| loss=0.9",
		"Validation DataLoader 0: 100%| | 10/10, loss=0.9",
		"Test: [ 0/98] loss: 0.9",
		"[eval] step 9 loss=0.9",
		"{'eval_loss': 0.9, 'epoch': 1.0} eval_loss: 0.9",
		"INFO test set: average loss: 0.9",
	} {
		require.False(t, read(line), line)
	}
	for _, line := range []string{"epoch 2: 40%| loss=0.5", "contest: loss=0.5", "latest loss=0.5", "[train] loss=0.5", "value 3 loss=0.5"} {
		require.True(t, read(line), line)
	}
}

func TestPlain_ReadsRecordsOfTrainers(t *testing.T) {
	type report struct {
		value              float64
		step, total, epoch int64
	}
	for line, want := range map[string]report{
		`{'loss': 1.23, 'grad_norm': 4.5, 'learning_rate': 5e-05, 'epoch': 0.1}`: {1.23, 1, 0, 0},
		`{"loss": "1.23", "step": "17"}`:                                         {1.23, 17, 0, 0},
		`{"epoch": 2, "global_step": 170, "max_steps": 900, "loss": 0.5}`:        {0.5, 170, 900, 2},
		`{"train_loss": 1, "loss": "1,234.5", "iter": 3}`:                        {1234.5, 3, 0, 0},
		`iteration 1,200/10,000 loss=tensor(0.5, grad_fn=<MeanBackward0>)`:       {0.5, 1200, 10000, 0},
		`"0.25"`:                           {0.25, 1, 0, 0},
		`step 1 loss=9 step 2 loss=8`:      {8, 2, 0, 0},
		`step 7, 30 ms/step: 5, loss: 0.5`: {0.5, 7, 0, 0},
		`{"step": 3, "loss": 2.5e-05}`:     {2.5e-5, 3, 0, 0},
	} {
		p, _, ok := lines.NewPlain("loss").Read([]byte(line))
		require.True(t, ok, line)
		require.Equal(t, want, report{p.Metrics[0].Value, p.Step, p.TotalSteps, p.Epoch}, line)
	}
	for _, line := range []string{"nan", "loss: NaN", `{"step": 3, "loss": NaN}`, "step 3 loss=-nan"} {
		p, _, ok := lines.NewPlain("loss").Read([]byte(line))
		require.True(t, ok, line)
		require.True(t, math.IsNaN(p.Metrics[0].Value), line)
	}
}

// rankOf returns the rank of a report, −1 without one.
func rankOf(p wire.Progress) int {
	if p.Rank == nil {
		return -1
	}
	return *p.Rank
}

func TestReader_SeparatesRanks(t *testing.T) {
	for name, tc := range map[string]struct {
		pattern string
		lines   []string
		want    []int
	}{
		"in brackets":   {`loss (\S+)`, []string{"[rank0] loss 1", "[rank1] loss 1", "[Rank 2] loss 1", "[rank0] loss 1"}, []int{0, 1, 2, 0}},
		"in words":      {`loss (\S+)`, []string{"rank 0: loss 1", "rank=1 loss 1", "RANK: 2, loss 1", "loss 1 (global_rank 3)", "local_rank=0 rank=4 loss 1", "local rank 5 loss 1"}, []int{0, 1, 2, 3, 4, 5}},
		"in JSON":       {`"loss": (\S+)`, []string{`{"rank": 0, "loss": 1}`, `{"rank": 1, "loss": 1}`}, []int{0, 1}},
		"torchrun":      {`loss (\S+)`, []string{"[default0]:loss 1", "[default3]:loss 1", "[trainer1]: loss 1"}, []int{0, 3, 1}},
		"mpirun":        {`loss (\S+)`, []string{"[1,0]<stdout>:loss 1", "[1,7]<stdout>:loss 1", "[host-1@1,8]<stderr>:loss 1"}, []int{0, 7, 8}},
		"a group":       {`p(?P<rank>\d+) loss (\S+)`, []string{"p0 loss 1", "p2 loss 1"}, []int{0, 2}},
		"no rank":       {`loss (\S+)`, []string{"loss 1", "ranked 3 loss 1", "step 5 loss 1", "rank 0.85 loss 1"}, []int{-1, -1, -1, -1}},
		"one rank only": {`loss (\S+)`, []string{"[rank3] loss 1", "[rank3] loss 1"}, []int{3, 3}},
		"numbered lines": {
			`loss (\S+)`,
			[]string{"0: loss 1", "1: loss 1", "0: loss 1", "1: loss 1", "0: loss 1", "1: loss 1", "0: loss 1", "1: loss 1"},
			[]int{-1, -1, -1, -1, -1, -1, 0, 1},
		},
		"steps are no ranks": {`loss (\S+)`, []string{"1: loss 1", "2: loss 1", "3: loss 1", "1: loss 1", "2: loss 1"}, []int{-1, -1, -1, -1, -1}},
	} {
		t.Run(name, func(t *testing.T) {
			r := lines.NewReader("loss", regexp.MustCompile(tc.pattern))
			var got []int
			for _, line := range tc.lines {
				p, _, ok := r.Read([]byte(line))
				require.True(t, ok, line)
				got = append(got, rankOf(p))
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func TestReader_CountsTheReportsOfEachRank(t *testing.T) {
	r := lines.NewReader("loss", regexp.MustCompile(`loss (\S+)`))
	var steps []int64
	for _, line := range []string{"[rank0] loss 1", "[rank1] loss 1", "[rank0] loss 1", "[rank1] loss 1"} {
		p, counted, _ := r.Read([]byte(line))
		require.True(t, counted)
		steps = append(steps, p.Step)
	}
	require.Equal(t, []int64{1, 1, 2, 2}, steps)
}

func FuzzReader(f *testing.F) {
	f.Add(`loss=([0-9.]+)`, []byte("[rank0] step 17/90 loss=nan val_loss=1,234.5"))
	f.Add(`(?P<step>\d+)/(?P<total>\d+).*?([-0-9.e]+)$`, []byte("99%| 99/100 loss=-inf"))
	recordings, err := filepath.Glob("testdata/recordings/*.txt")
	require.NoError(f, err)
	for _, file := range recordings {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(`(?:step (?P<step>\d+).*)?loss["': =]+([0-9.]+)`, text)
	}
	f.Add(`(?P<rank>\d)(?P<epoch>\d)|(x*)`, []byte("12"))
	f.Fuzz(func(t *testing.T, pattern string, text []byte) {
		expression, err := regexp.Compile(pattern)
		if err != nil || expression.NumSubexp() < 1 || len(pattern) > 200 {
			return
		}
		r := lines.NewReader("loss", expression)
		for range 2 {
			p, _, ok := r.Read(text)
			if ok && (p.Step < 0 || p.TotalSteps < 0 || p.Epoch < 0 || rankOf(p) < -1 || len(p.Metrics) != 1) {
				t.Fatalf("%q gave %+v", text, p)
			}
		}
	})
}
