package web_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPage_NoticesASilentConnection: a browser connects again by itself only after a broken connection.
func TestPage_NoticesASilentConnection(t *testing.T) {
	script := body(t, get(t, handlerOf(newSource(snapshot())), "/page.js"))
	for _, part := range []string{`addEventListener("heartbeat"`, "EventSource.CLOSED", "SILENCE = 45"} {
		require.Contains(t, script, part)
	}
}

// TestPage_ShowsTheStepsOfTheWholeJob: the total is that of the job, and a job may number its steps per epoch.
func TestPage_ShowsTheStepsOfTheWholeJob(t *testing.T) {
	script := body(t, get(t, handlerOf(newSource(snapshot())), "/page.js"))
	require.Contains(t, script, "const made = Math.max(sample.step, sample.stepsDone || 0)")
	require.Contains(t, script, "${made} / ${sample.totalSteps}")
	require.Contains(t, script, "bar(made, sample.totalSteps)")
}

// TestPage_ShowsLocalTimes: the times of the state are in UTC, which few viewers' clocks show.
func TestPage_ShowsLocalTimes(t *testing.T) {
	script := body(t, get(t, handlerOf(newSource(snapshot())), "/page.js"))
	require.Contains(t, script, "getHours()")
	require.NotContains(t, script, "text.slice(11, 16)")
}
