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
	jobs := p.running()
	for _, s := range all {
		doc.Bytes += s.Bytes
		if namespace != "" && s.Program.Namespace != namespace {
			continue
		}
		program := api.Program{
			Program:   s.Program,
			Namespace: s.Program.Namespace,
			Readers:   s.Readers,
			Runs:      len(s.Runs),
			Nodes:     s.Nodes,
			Used:      s.Used,
			Bytes:     s.Bytes,
			Jobs:      jobs.of(s),
		}
		if s.Err != nil {
			program.Error = s.Err.Error()
		}
		doc.Programs = append(doc.Programs, program)
	}
	return doc
}

// running are samples of the running jobs by the digest of their programs.
type running map[string][]*bus.Sample

func (p *programReport) running() running {
	snapshot, _ := p.source.Snapshot()
	jobs := running{}
	for _, j := range snapshot.Jobs {
		if j.Sample != nil {
			digest := j.Sample.Program.Digest
			jobs[digest] = append(jobs[digest], j.Sample)
		}
	}
	return jobs
}

// of returns the running jobs of a program. Those of a shared one are the jobs of its readers: a sample names the program of the job's
// own namespace.
func (r running) of(s runs.Summary) (jobs []string) {
	readers := programs.Model{Readers: s.Readers}
	for _, job := range r[s.Program.Digest] {
		if readers.ReadableBy(s.Program, job.Program.Namespace) {
			jobs = append(jobs, job.Pod.String())
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
