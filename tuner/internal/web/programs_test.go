package web_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/bus/membus"
	"github.com/trellis-gpu/trellis/growth/programs"
	"github.com/trellis-gpu/trellis/tuner/api"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
	"github.com/trellis-gpu/trellis/tuner/internal/runs"
	"github.com/trellis-gpu/trellis/tuner/internal/web"
)

// handlerOf returns the dashboard of a tuner without a history of programs.
func handlerOf(source web.Source) http.Handler {
	b := membus.New().Session()
	return web.Dashboard(source, runs.NewIndex(b, slog.New(slog.DiscardHandler)), b)
}

func TestPrograms_ListsTheHistoryAndItsRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session := membus.New().Session()
		index := runs.NewIndex(session, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go index.Run(ctx) // returns when ctx ends
		id, other := programs.IDOf("team", "a"), programs.IDOf("others", "a")
		put := func(id programs.ID, used time.Time) {
			record := bus.ProgramModel{Model: programs.Model{Used: used, Runs: []programs.Run{
				{Pod: "u", Job: id.Namespace + "/job", Node: "n", Points: []programs.Point{{1, 2, 1}}},
			}}}
			value, err := bus.Encode(record)
			require.NoError(t, err)
			_, err = session.Put(t.Context(), bus.ProgramKey(id), value, bus.Persistent)
			require.NoError(t, err)
		}
		put(id, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		put(other, time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
		_, err := session.Put(t.Context(), bus.ProgramKey(programs.IDOf("newer", "a")), []byte(`{"v":9}`), bus.Persistent)
		require.NoError(t, err)
		synctest.Wait()
		source := newSource(&history.Snapshot{Jobs: []history.Job{{UID: "r", Sample: &bus.Sample{
			Pod: growth.PodRef{Namespace: "team", Name: "now", UID: "r"}, Program: id}}}})
		handler := web.Dashboard(source, index, session)
		ask := func(query string) (doc api.Programs) {
			require.NoError(t, json.Unmarshal([]byte(body(t, get(t, handler, "/api/v1/programs"+query))), &doc))
			return doc
		}

		all := ask("")
		require.True(t, all.Synced)
		require.Len(t, all.Programs, 3)
		require.Equal(t, other, all.Programs[0].Program, "used last")
		require.Equal(t, []string{"team/now"}, all.Programs[1].Jobs)
		require.Contains(t, all.Programs[2].Error, "version")
		require.Positive(t, all.Bytes)

		one := ask("?namespace=team&program=" + id.String())
		require.Len(t, one.Programs, 1)
		require.Equal(t, "team/job", one.Model.Runs[0].Job)
		require.Equal(t, http.StatusBadRequest, get(t, handler, "/api/v1/programs?program=x").StatusCode)
		require.Equal(t, http.StatusNotFound, get(t, handler, "/api/v1/programs?program="+id.In("absent").String()).StatusCode)
		require.Equal(t, http.StatusServiceUnavailable,
			get(t, handler, "/api/v1/programs?program="+id.In("newer").String()).StatusCode, "a newer version")
	})
}

// The sample of a job names the program of its own namespace, also if that namespace shares its models.
func TestPrograms_ListsTheJobsOfASharedProgram(t *testing.T) {
	train := programs.IDOf("team", "a")
	shared := train.In(programs.Shared)
	var jobs []history.Job
	for _, id := range []programs.ID{train.In("friends"), programs.IDOf("team", "b"), train, train.In("theirs"), {}} {
		uid := growth.PodUID("pod-of-" + id.String())
		jobs = append(jobs, history.Job{UID: uid, Sample: &bus.Sample{Pod: growth.PodRef{Namespace: id.Namespace, Name: "now", UID: uid}, Program: id}})
	}
	for name, tc := range map[string]struct {
		program programs.ID
		readers []string
		want    []string
	}{
		"some namespaces":                 {shared, []string{"friends", "team"}, []string{"friends/now", "team/now"}},
		"all namespaces":                  {shared, []string{"*"}, []string{"friends/now", "team/now", "theirs/now"}},
		"a namespace without jobs":        {shared, []string{"absent"}, nil},
		"no reader":                       {shared, nil, nil},
		"a program of one namespace":      {train, nil, []string{"team/now"}},
		"one namespace, with old readers": {train, []string{"*"}, []string{"team/now"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				session := membus.New().Session()
				index := runs.NewIndex(session, slog.New(slog.DiscardHandler))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go index.Run(ctx) // returns when ctx ends
				value, err := bus.Encode(bus.ProgramModel{Model: programs.Model{Readers: tc.readers}})
				require.NoError(t, err)
				_, err = session.Put(t.Context(), bus.ProgramKey(tc.program), value, bus.Persistent)
				require.NoError(t, err)
				synctest.Wait()
				handler := web.Dashboard(newSource(&history.Snapshot{Jobs: jobs}), index, session)
				var doc api.Programs
				require.NoError(t, json.Unmarshal([]byte(body(t, get(t, handler, "/api/v1/programs"))), &doc))
				require.Len(t, doc.Programs, 1)
				require.Equal(t, tc.want, doc.Programs[0].Jobs)
			})
		})
	}
}
