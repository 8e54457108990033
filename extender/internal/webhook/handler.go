package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/julienschmidt/httprouter"
	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/trellis-gpu/trellis/extender/internal/scheduler"
	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare/aliyun"
)

// maxBody bounds a question. Five thousand whole nodes are about 30 MiB.
const maxBody = 64 << 20

// Decider answers the questions.
type Decider interface {
	Filter(pod *corev1.Pod, nodes []string) (scheduler.Filtered, error)
	Prioritize(pod *corev1.Pod, nodes []string) scheduler.Rated
	Bind(ctx context.Context, pod growth.PodRef, node growth.NodeName) error
	Preempt(pod *corev1.Pod, offered []scheduler.Candidate) ([]scheduler.Candidate, error)
	Explain(namespace, name string) (scheduler.Explanation, bool)
	Inspect(node growth.NodeName) aliyun.Inspection
}

// Observer is told of every answer.
type Observer interface {
	Answered(verb string, took time.Duration)
	Bound(outcome string)
}

type handler struct {
	decider  Decider
	observer Observer
	log      *slog.Logger
	bodies   bodies
}

// Handler serves the extender API.
func Handler(decider Decider, observer Observer, log *slog.Logger) http.Handler {
	h := &handler{decider: decider, observer: observer, log: log}
	router := httprouter.New()
	router.POST("/filter", h.timed("filter", h.filter))
	router.POST("/prioritize", h.timed("prioritize", h.prioritize))
	router.POST("/bind", h.timed("bind", h.bind))
	router.POST("/preempt", h.timed("preempt", h.preempt))
	router.GET("/explain/:namespace/:pod", h.explain)
	for _, path := range []string{"/inspect", "/gpushare-scheduler/inspect"} { // gpushare's own path as well
		router.GET(path, h.inspect)
		router.GET(path+"/:node", h.inspect)
	}
	router.NotFound = refusal(http.StatusNotFound,
		"the verbs are /filter, /prioritize, /bind and /preempt; people ask /explain/<namespace>/<pod> and /inspect/<node>")
	router.MethodNotAllowed = refusal(http.StatusMethodNotAllowed, "verbs are POSTed, /explain and /inspect are GET")
	router.PanicHandler = func(w http.ResponseWriter, r *http.Request, cause any) {
		h.log.Error("a request broke its handler", "path", r.URL.Path, "cause", cause)
		fail(w, http.StatusInternalServerError, "internal error")
	}
	return router
}

// answer is the result of a verb, or why there is none.
type answer func(r *http.Request) (any, error)

func (h *handler) timed(verb string, answer answer) httprouter.Handle {
	return func(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
		start := time.Now()
		defer func() { h.observer.Answered(verb, time.Since(start)) }()
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		result, err := answer(r)
		if err != nil {
			h.log.Warn("a question was not answered", "verb", verb, "from", r.RemoteAddr, "reason", err)
			fail(w, status(err), err.Error())
			return
		}
		if long, ok := result.(text); ok {
			h.bodies.write(w, long)
			long.release()
			return
		}
		reply(w, http.StatusOK, result)
	}
}

func (h *handler) filter(r *http.Request) (any, error) {
	asked, err := h.bodies.args(r)
	if err != nil {
		return nil, err
	}
	found, err := h.decider.Filter(asked.pod, asked.names)
	if err == nil && asked.whole == nil {
		return sorted(found), nil
	}
	defer found.Release()
	return asked.filterResult(found, err), nil
}

func (h *handler) prioritize(r *http.Request) (any, error) {
	asked, err := h.bodies.args(r)
	if err != nil {
		return nil, err
	}
	return rated(h.decider.Prioritize(asked.pod, asked.names)), nil
}

func (h *handler) bind(r *http.Request) (any, error) {
	pod, node, err := decodeBinding(r.Body)
	if err != nil {
		return nil, err
	}
	err = h.decider.Bind(r.Context(), pod, node)
	h.observer.Bound(scheduler.Outcome(err))
	if err != nil {
		h.log.Warn("not bound", "pod", pod, "node", node, "reason", err)
		return extenderv1.ExtenderBindingResult{Error: err.Error()}, nil
	}
	return extenderv1.ExtenderBindingResult{}, nil
}

func status(err error) int {
	var tooLarge *http.MaxBytesError
	var notNow errNotNow
	switch {
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.As(err, &notNow):
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

func refusal(code int, sentence string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fail(w, code, sentence) })
}

func fail(w http.ResponseWriter, code int, sentence string) {
	reply(w, code, map[string]string{"error": sentence})
}

// reply writes JSON. A scheduler that hangs up in the middle is no error of ours.
func reply(w http.ResponseWriter, code int, body any) {
	encoded, err := json.Marshal(body)
	if err != nil {
		code, encoded = http.StatusInternalServerError, []byte(`{"error":"the answer can not be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(encoded)
}
