package web_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/move"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
	"github.com/trellis-gpu/trellis/tuner/internal/runs"
	"github.com/trellis-gpu/trellis/tuner/internal/web"
)

// The moves of a job can be read after its pods are gone.
func TestMoves_ListsThePastMovesOfJobs(t *testing.T) {
	session := membus.New().Session()
	put := func(key string, value []byte) {
		_, err := session.Put(t.Context(), bus.MovedKey(key), value, bus.Persistent)
		require.NoError(t, err)
	}
	record := func(namespace, owner string, past ...move.Past) []byte {
		job := bus.MovedJob{Owner: owner, History: move.History{Past: past}}
		job.Seen(growth.PodRef{Namespace: namespace, Name: "first"})
		job.Seen(growth.PodRef{Namespace: namespace, Name: "second"})
		value, err := bus.Encode(job)
		require.NoError(t, err)
		return value
	}
	ended := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	put("a", record("team", "Job/train",
		move.Past{From: "n1", To: "n2", State: move.Done, Took: 8, Ended: ended, Save: 1, Replaced: 3, Start: 2, Restore: 2},
		move.Past{From: "n2", State: move.Aborted, Took: 2, Ended: ended.Add(time.Hour), Why: "a\ttab"}))
	put("b", record("other", "", move.Past{From: "n1", To: "n3", State: move.Done, Took: 1, Ended: ended}))
	put("newer", []byte(`{"v":9,"pod":{"namespace":"team","name":"first"},"owner":"Job/train","names":["first"],"past":[{"from":"n9"}]}`))
	handler := web.Dashboard(newSource(&history.Snapshot{}), runs.NewIndex(session, slog.New(slog.DiscardHandler)), session)

	const team = "team\tfirst,second\tJob/train\t2026-01-01T00:00:00Z\tn1\tn2\tDone\t8.0 (save 1.0, replace 3.0, start 2.0, restore 2.0)\trequested\n" +
		"team\tfirst,second\tJob/train\t2026-01-01T01:00:00Z\tn2\t-\tAborted\t2.0\trequested; ended early: a tab\n"
	const other = "other\tfirst,second\t\t2026-01-01T00:00:00Z\tn1\tn3\tDone\t1.0\trequested\n"
	for name, tc := range map[string]struct{ query, want string }{
		"a namespace":                  {"namespace=other", other},
		"another one":                  {"namespace=team", team},
		"one without moves":            {"namespace=none", ""},
		"a job by its controller":      {"namespace=team&job=job/train", team},
		"a job by a pod that is gone":  {"namespace=team&job=first", team},
		"a job without a controller":   {"namespace=other&job=second", other},
		"an unknown controller":        {"namespace=team&job=Job/other", ""},
		"an unknown pod":               {"namespace=team&job=third", ""},
		"the pod of another namespace": {"namespace=none&job=first", ""},
		"part of the name of a pod":    {"namespace=team&job=sec", ""},
		"a job without a name":         {"namespace=team&job=", team},
	} {
		t.Run(name, func(t *testing.T) {
			reply := get(t, handler, "/api/v1/moves?"+tc.query)
			require.Equal(t, http.StatusOK, reply.StatusCode)
			require.Equal(t, tc.want, body(t, reply))
		})
	}
}

func TestMoves_RequiresANamespace(t *testing.T) {
	session := membus.New().Session()
	handler := web.Dashboard(newSource(&history.Snapshot{}), runs.NewIndex(session, slog.New(slog.DiscardHandler)), session)
	for _, target := range []string{"/api/v1/moves", "/api/v1/moves?job=Job/train", "/api/v1/moves?namespace="} {
		reply := get(t, handler, target)
		require.Equal(t, http.StatusBadRequest, reply.StatusCode, target)
		require.Contains(t, body(t, reply), "give namespace=<name>")
	}
}

// An answer has the last moves if there are too many.
func TestMoves_AreBounded(t *testing.T) {
	session := membus.New().Session()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const jobs, each = 200, 8
	for i := range jobs {
		job := bus.MovedJob{Pod: growth.PodRef{Namespace: "team", Name: "train"}}
		for k := range each {
			job.Past = append(job.Past, move.Past{From: "n1", State: move.Done, Ended: began.Add(time.Duration(k*jobs+i) * time.Second)})
		}
		value, err := bus.Encode(job)
		require.NoError(t, err)
		_, err = session.Put(t.Context(), bus.MovedKey(fmt.Sprintf("uid-%d", i)), value, bus.Persistent)
		require.NoError(t, err)
	}
	handler := web.Dashboard(newSource(&history.Snapshot{}), runs.NewIndex(session, slog.New(slog.DiscardHandler)), session)
	lines := slices.Collect(strings.Lines(body(t, get(t, handler, "/api/v1/moves?namespace=team"))))
	require.Len(t, lines, 1000)
	require.Contains(t, lines[0], began.Add((jobs*each-1000)*time.Second).Format(time.RFC3339))
	require.Contains(t, lines[999], began.Add((jobs*each-1)*time.Second).Format(time.RFC3339))
}
