package results_test

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/benchmarks/internal/results"
)

func TestCommand_OmitsPlaces(t *testing.T) {
	for name, tc := range map[string]struct {
		given []string
		want  string
	}{
		"nothing":                     {nil, `make bench`},
		"a switch":                    {[]string{"--quick"}, `make bench ARGS="--quick"`},
		"a switch that is off":        {[]string{"--live=false"}, `make bench ARGS="--live=false"`},
		"what would be so anyway":     {[]string{"--seeds", "200", "--quick=false"}, `make bench`},
		"values, in one order":        {[]string{"--seeds", "8", "--only", "service", "--only=plain"}, `make bench ARGS="--only=service,plain --seeds=8"`},
		"of several words":            {[]string{"--only", "10 random,plain"}, `make bench ARGS="--only='10 random,plain'"`},
		"where things lie":            {[]string{"--stock-dir=/home/me/.cache/stock", "--out", "/tmp/x.json", "--quick"}, `make bench ARGS="--quick"`},
		"a path of this machine":      {[]string{"--workload=/home/me/jobs.csv"}, `make bench ARGS="--workload=…/jobs.csv"`},
		"a path within the checkout":  {[]string{"--workload=benchmarks/workloads/a.csv"}, `make bench ARGS="--workload=benchmarks/workloads/a.csv"`},
		"a flag that says what it is": {[]string{"--gpus=emulated:1x8GiB"}, `make bench ARGS="--gpus=emulated:1x8GiB"`},
	} {
		t.Run(name, func(t *testing.T) {
			f := pflag.NewFlagSet("bench", pflag.ContinueOnError)
			f.Bool("quick", false, "")
			f.Bool("live", true, "")
			f.Int("seeds", 200, "")
			f.StringSlice("only", nil, "")
			for _, text := range []string{"stock-dir", "out", "workload", "gpus"} {
				f.String(text, "", "")
			}
			require.NoError(t, f.Parse(tc.given))
			require.Equal(t, tc.want, results.Command("bench", f, "stock-dir", "out"))
		})
	}
}
