package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/julienschmidt/httprouter"

	"github.com/trellis-gpu/trellis/growth/bus"
)

// maxMoves bounds the moves of an answer. With more of them it has the last ones.
const maxMoves = 1000

// moveReport serves the past moves of jobs, also of those whose pods are gone.
type moveReport struct {
	models Models
}

// pastMove is a line of an answer, and when its move ended.
type pastMove struct {
	ended time.Time
	line  string
}

// serve writes lines of text for scripts: the fields of the annotation gpushare/moves, after those that name the job.
func (m moveReport) serve(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
	query := r.URL.Query()
	if query.Get("namespace") == "" {
		http.Error(w, "give namespace=<name>, and job=<kind>/<name> or job=<pod> for one job", http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	entries, _, err := m.models.List(ctx, bus.Moved)
	if err != nil {
		http.Error(w, fmt.Sprintf("the past moves cannot be read: %v", err), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/tab-separated-values; charset=utf-8")
	for _, past := range pastMoves(entries, query.Get("namespace"), query.Get("job")) {
		_, _ = fmt.Fprintln(w, past.line) // the client may have disconnected
	}
}

// pastMoves returns the last moves of the jobs of a namespace, or of one of them, in the order in which they ended.
func pastMoves(entries []bus.Entry, namespace, name string) []pastMove {
	var moves []pastMove
	for _, entry := range entries {
		job, err := bus.Decode[bus.MovedJob](entry.Value)
		if err != nil || job.Pod.Namespace != namespace || name != "" && !isNamed(job, name) {
			continue // a newer version, or not asked for
		}
		for _, p := range job.Past {
			line := fmt.Sprintf("%s\t%s\t%s\t%s", namespace, strings.Join(job.Names, ","), job.Owner, p)
			moves = append(moves, pastMove{ended: p.Ended, line: line})
		}
	}
	slices.SortFunc(moves, func(a, b pastMove) int { return cmp.Or(a.ended.Compare(b.ended), cmp.Compare(a.line, b.line)) })
	return moves[max(0, len(moves)-maxMoves):]
}

// isNamed reports whether a name is that of a job's controller, as KIND/NAME, or of one of its pods.
func isNamed(job bus.MovedJob, name string) bool {
	return strings.EqualFold(job.Owner, name) || slices.Contains(job.Names, name)
}
