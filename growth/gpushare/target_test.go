package gpushare_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestParse_Target(t *testing.T) {
	for name, tc := range map[string]struct {
		metric, target string
		want           gpushare.Target
		refused        string
	}{
		"none":                              {"loss:min", "", gpushare.Target{}, ""},
		"a loss":                            {"loss:min", "loss<=0.05", gpushare.Target{Metric: "loss", Direction: growth.Minimize, Value: 0.05}, ""},
		"a score, with spaces":              {"eval/acc:max", " eval/acc >= 95 ", gpushare.Target{Metric: "eval/acc", Direction: growth.Maximize, Value: 95}, ""},
		"the default metric":                {"", "loss<=1e-3", gpushare.Target{Metric: "loss", Direction: growth.Minimize, Value: 1e-3}, ""},
		"it shows the direction":            {"quality", "quality>=-2.5", gpushare.Target{Metric: "quality", Direction: growth.Maximize, Value: -2.5}, ""},
		"the longest number":                {"loss", "loss<=1e99", gpushare.Target{Metric: "loss", Direction: growth.Minimize, Value: 1e99}, ""},
		"another metric":                    {"loss:min", "accuracy>=0.9", gpushare.Target{}, `names another metric than gpushare/metric, which is "loss"`},
		"the wrong side":                    {"loss:min", "loss>=0.9", gpushare.Target{}, `the metric is "loss:min", so write <=`},
		"the wrong side of a name":          {"accuracy", "accuracy<=0.9", gpushare.Target{}, `the metric is "accuracy:max", so write >=`},
		"a strict bound":                    {"loss:min", "loss<0.9", gpushare.Target{}, "is not a metric, <= or >=, and a number"},
		"a number that is not finite":       {"loss:min", "loss<=NaN", gpushare.Target{}, "is not a metric, <= or >=, and a number"},
		"an exponent that is out of bounds": {"loss:min", "loss<=1e999", gpushare.Target{}, "is not a metric, <= or >=, and a number"},
	} {
		t.Run(name, func(t *testing.T) {
			annotations := map[string]string{gpushare.MemoryAnnotation: "1", gpushare.TargetAnnotation: tc.target}
			if tc.metric != "" {
				annotations[gpushare.MetricAnnotation] = tc.metric
			}
			s, err := gpushare.Parse(annotations)
			if tc.refused != "" {
				require.ErrorContains(t, err, tc.refused)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, s.Target)
			require.Equal(t, tc.target != "", s.Target.Declared())
			if s.Target.Declared() {
				require.Equal(t, tc.want.Direction, s.Direction)
			}
		})
	}
}

func FuzzParse_Target(f *testing.F) {
	f.Add("loss", "loss<=0.05")
	f.Add("acc:max", "acc >= .9e-2")
	f.Fuzz(func(t *testing.T, metric, target string) {
		s, err := gpushare.Parse(map[string]string{
			gpushare.MemoryAnnotation: "1", gpushare.MetricAnnotation: metric, gpushare.TargetAnnotation: target,
		})
		if err != nil || !s.Target.Declared() {
			return
		}
		again, err := gpushare.Parse(map[string]string{
			gpushare.MemoryAnnotation: "1", gpushare.MetricAnnotation: metric, gpushare.TargetAnnotation: s.Target.String(),
		})
		if err != nil || again.Target != s.Target {
			t.Fatalf("%q is %v, and that is %v: %v", target, s.Target, again.Target, err)
		}
	})
}
