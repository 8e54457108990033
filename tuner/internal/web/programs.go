package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/julienschmidt/httprouter"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/programs"
	"github.com/trellis-gpu/trellis/tuner/api"
	"github.com/trellis-gpu/trellis/tuner/internal/runs"
)

// Index lists the programs on the bus.
type Index interface {
	State() (all []runs.Summary, synced bool, err error)
}

// Models reads models from the bus.
type Models interface {
	List(ctx context.Context, prefix string) ([]bus.Entry, bus.Revision, error)
}

// readTimeout bounds the time to read a model.
const readTimeout = 3 * time.Second

// programReport serves the cluster's history of programs.
type programReport struct {
	source Source
	index  Index
	models Models
}

func (p *programReport) serve(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
	query := r.URL.Query()
	doc := p.list(query.Get("namespace"))
	if query.Has("program") {
		id, err := programs.ParseID(query.Get("program"))
		if err != nil {
			http.Error(w, err.Error()+": give program=<namespace>:<digest> as in the list", http.StatusBadRequest)
			return
		}
		model, found, err := p.read(r.Context(), id)
		switch {
		case err != nil:
			http.Error(w, fmt.Sprintf("%s cannot be read: %v", id, err), http.StatusServiceUnavailable)
			return
		case !found:
			http.Error(w, fmt.Sprintf("%s is not in the history", id), http.StatusNotFound)
			return
		}
		doc.Model = model
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(doc) // the client may have disconnected
}

// list returns the programs of a namespace, or all.
func (p *programReport) list(namespace string) api.Programs {
	all, synced, err := p.index.State()
	doc := api.Programs{Synced: synced, Programs: []api.Program{}}
	if err != nil {
		doc.Error = "the state bus is unavailable, this is the last known state: " + err.Error()
	}
	jobs := p.jobs()
	for _, s := range all {
		doc.Bytes += s.Bytes
		if namespace != "" && s.Program.Namespace != namespace {
			continue
		}
		program := api.Program{
			Program:   s.Program,
			Namespace: s.Program.Namespace,
			Readers:   s.Readers,
			Runs:      len(s.Pods),
			Nodes:     s.Nodes,
			Used:      s.Used,
			Bytes:     s.Bytes,
			Jobs:      jobs[s.Program],
		}
		if s.Err != nil {
			program.Error = s.Err.Error()
		}
		doc.Programs = append(doc.Programs, program)
	}
	return doc
}

// jobs returns the running jobs by program.
func (p *programReport) jobs() map[programs.ID][]string {
	snapshot, _ := p.source.Snapshot()
	jobs := map[programs.ID][]string{}
	for _, j := range snapshot.Jobs {
		if j.Sample != nil {
			jobs[j.Sample.Program] = append(jobs[j.Sample.Program], j.Sample.Pod.String())
		}
	}
	return jobs
}

func (p *programReport) read(ctx context.Context, id programs.ID) (model *programs.Model, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	entries, _, err := p.models.List(ctx, bus.ProgramKey(id))
	if err != nil || len(entries) == 0 {
		return nil, false, err
	}
	record, err := bus.Decode[bus.ProgramModel](entries[0].Value)
	return &record.Model, true, err
}
