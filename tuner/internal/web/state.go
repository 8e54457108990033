package web

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/trellis-gpu/trellis/tuner/api"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// state converts a snapshot to the document that the API serves at a time.
func state(s *history.Snapshot, now time.Time) api.State {
	doc := api.State{Synced: s.Synced, Nodes: []api.Node{}, Jobs: []api.Job{}}
	if s.Err != nil {
		doc.Error = "the state bus is unavailable, this is the last known state: " + s.Err.Error()
	}
	for key, err := range s.Undecodable {
		doc.Undecodable = append(doc.Undecodable, fmt.Sprintf("%.300q: %.300s", key, err))
	}
	slices.Sort(doc.Undecodable)
	for _, n := range s.Nodes {
		doc.Nodes = append(doc.Nodes, api.Node{Node: n.Name, GPUs: n.GPUs, Load: n.Load})
	}
	for _, j := range s.Jobs {
		if j.Sample != nil {
			job := api.Job{Sample: *j.Sample, Advice: j.Advice, Elsewhere: elsewhere(s, j.Sample, now)}
			if j.Sample.Batch != nil {
				job.Goodput = j.Sample.Batch.Values()
			}
			doc.Jobs = append(doc.Jobs, job)
		}
	}
	joinGangs(doc.Jobs)
	return doc
}

// encode encodes the document as one line of JSON.
func encode(s *history.Snapshot) ([]byte, error) { return json.Marshal(state(s, time.Now())) }
