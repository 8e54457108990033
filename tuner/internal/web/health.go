package web

import (
	"fmt"
	"net/http"

	"github.com/julienschmidt/httprouter"
)

// Health serves /livez, /readyz and /metrics.
func Health(source Source, metrics http.Handler) http.Handler {
	router := httprouter.New()
	router.GET("/livez", func(w http.ResponseWriter, _ *http.Request, _ httprouter.Params) { fmt.Fprintln(w, "ok") })
	router.GET("/readyz", func(w http.ResponseWriter, _ *http.Request, _ httprouter.Params) { ready(source, w) })
	router.Handler(http.MethodGet, "/metrics", metrics)
	return secureHeaders(router)
}

func ready(source Source, w http.ResponseWriter) {
	snapshot, _ := source.Snapshot()
	switch {
	case !snapshot.Synced:
		http.Error(w, fmt.Sprintf("the state bus has not been read yet: %v", snapshot.Err),
			http.StatusServiceUnavailable)
	case snapshot.Err != nil:
		fmt.Fprintf(w, "degraded: serving the last known state, no advice is given: %v\n", snapshot.Err)
	default:
		fmt.Fprintln(w, "ok")
	}
}
