package plugin_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// The moves of a job are on its pods. Those of pods that are gone, or that a controller may have recreated, come from the tuner.
func TestPlugin_ShowsThePastMovesOfJobs(t *testing.T) {
	const (
		header = "LAST POD       ENDED                 FROM    TO      STATE    SECONDS  REASON\n"
		first  = "train-1-new22  2026-11-27T06:00:00Z  node-3  node-2  Done     9.0      requested\n"
		second = "train-0-xyz99  2026-11-27T07:00:00Z  node-1  node-2  Done     8.1 (save 1.0, replace 3.1, start 2.0 with its image, restore 2.0)  requested\n"
		third  = "train-0-xyz99  2026-11-27T07:10:00Z  node-2  -       Aborted  2.0      requested; ended early: it did not save: disk \"full\"\n"
	)
	for name, tc := range map[string]struct {
		folder string
		args   []string
		want   string
		job    string // of which the tuner is asked; empty if it is not
	}{
		"a pod":                            {"moved", []string{"train-0-xyz99"}, header + second + third, "Job/train"},
		"a pod, and the tuner is down":     {"partly", []string{"train-0-xyz99"}, header + second + third, "Job/train"},
		"a pod that its job has recreated": {"recreated", []string{"train-0-new77"}, header + second, "Job/train"},
		"a job":                            {"moved", []string{"job/train"}, header + first + second, "job/train"},
		"a job with the group of its kind": {"moved", []string{"job.batch/train"}, header + first + second, "job/train"},
		"a job whose pods are gone":        {"gone", []string{"job/train"}, header + first + second, "job/train"},
		"a pod that its job has replaced":  {"gone", []string{"train-0-abc12"}, header + second, "train-0-abc12"},
		"a pod that has not moved":         {"unmoved", []string{"plain"}, "the job of plain in namespace default has not moved\n", ""},
		"JSON": {"gone", []string{"train-0-abc12", "-o", "json"}, `{"moves":[{"pod":"train-0-xyz99","ended":"2026-11-27T07:00:00Z",` +
			`"from":"node-1","to":"node-2","state":"Done","seconds":8.1,"save":1.0,"replace":3.1,"start":2.0,"restore":2.0,"reason":"requested"}]}` + "\n", "train-0-abc12"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, tc.folder, append([]string{"history"}, tc.args...)...)
			require.Zero(t, got.code, got.err)
			require.Equal(t, spaced(tc.want), spaced(got.out))
			if tc.job == "" {
				require.NotContains(t, got.commands, "get --raw")
				return
			}
			require.Contains(t, got.commands,
				"get --raw /api/v1/namespaces/trellis/services/tuner:http/proxy/api/v1/moves?namespace=default&job="+tc.job+"\n")
		})
	}
	got := run(t, "lost", "history", "train-0-abc12")
	require.NotZero(t, got.code)
	require.Contains(t, got.err, `cannot be read from the tuner: services "tuner:http" is forbidden`)
	require.Contains(t, got.err, `pod default/train-0-abc12: pods "train-0-abc12" not found, and no move of its job in the last three days is known`)
}

// spaced returns a table with one space between columns.
func spaced(table string) string {
	return regexp.MustCompile(` {2,}`).ReplaceAllString(table, " ")
}
