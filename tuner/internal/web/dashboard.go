package web

import (
	"embed"
	"net/http"

	"github.com/julienschmidt/httprouter"

	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// Source provides snapshots of the bus.
type Source interface {
	Snapshot() (*history.Snapshot, <-chan struct{})
}

//go:embed page
var page embed.FS

// Dashboard returns the handler of the page and the API.
func Dashboard(source Source, index Index, models Models) http.Handler {
	router := httprouter.New()
	router.RedirectTrailingSlash = false
	router.RedirectFixedPath = false
	get := func(path string, h httprouter.Handle) {
		router.GET(path, h)
		router.HEAD(path, h) // net/http leaves the body out
	}
	stream := &eventStream{source: source, slots: make(chan struct{}, maxWatches)}
	get("/api/v1/state", func(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
		switch watch := r.URL.Query().Get("watch"); watch {
		case "", "0", "false":
			serveState(source, w)
		case "1", "true":
			stream.ServeHTTP(w, r)
		default:
			http.Error(w, "watch must be 1 to follow changes, or absent", http.StatusBadRequest)
		}
	})
	get("/api/v1/interference", (&interferenceReport{source: source}).serve)
	get("/api/v1/programs", (&programReport{source: source, index: index, models: models}).serve)
	get("/api/v1/moves", moveReport{models}.serve)
	for path, file := range map[string]string{"/": "page/index.html", "/page.css": "page/page.css",
		"/page.js": "page/page.js", "/search.js": "page/search.js"} {
		get(path, func(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
			http.ServeFileFS(w, r, page, file)
		})
	}
	return secureHeaders(router)
}

func serveState(source Source, w http.ResponseWriter) {
	snapshot, _ := source.Snapshot()
	doc, err := encode(snapshot)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(doc, '\n')) // the client may have disconnected
}

// maxBody bounds a request's body. No request needs one.
const maxBody = 1 << 10

// secureHeaders sets headers against framing, sniffing and cross-site scripts, and bounds request bodies.
func secureHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy",
			"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "+
				"form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}
