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

// maxBody bounds a request. Five thousand whole nodes are about 30 MiB.
const maxBody = 64 << 20

// Scheduler decides.
type Scheduler interface {
	Filter(pod *corev1.Pod, nodes []string) (scheduler.FilterResult, error)
	Prioritize(pod *corev1.Pod, nodes []string) scheduler.PrioritizeResult
	Bind(ctx context.Context, pod growth.PodRef, node growth.NodeName) error
	Preempt(pod *corev1.Pod, offered []scheduler.Candidate) ([]scheduler.Candidate, error)
	Explain(namespace, name string) (scheduler.Explanation, bool)
	Inspect(node growth.NodeName) aliyun.Inspection
}

// Observer records the time of each answer, and the result of each bind.
type Observer interface {
	Answered(verb string, took time.Duration)
	Bound(outcome string)
}

type handler struct {
	scheduler Scheduler
	observer  Observer
	log       *slog.Logger
	bodies    bodies
}

// Handler serves the extender API.
func Handler(s Scheduler, observer Observer, log *slog.Logger) http.Handler {
	h := &handler{scheduler: s, observer: observer, log: log}
	router := httprouter.New()
	router.POST("/filter", h.timed("filter", h.filter))
	router.POST("/prioritize", h.timed("prioritize", h.prioritize))
	router.POST("/bind", h.timed("bind", h.bind))
	router.POST("/preempt", h.timed("preempt", h.preempt))
	router.GET("/explain/:namespace/:pod", h.explain)
	for _, path := range []string{"/inspect", "/gpushare-scheduler/inspect"} { // Aliyun gpushare's path too
		router.GET(path, h.inspect)
		router.GET(path+"/:node", h.inspect)
	}
	router.NotFound = refusal(http.StatusNotFound,
		"the verbs are /filter, /prioritize, /bind and /preempt; for people there are /explain/<namespace>/<pod> and /inspect/<node>")
	router.MethodNotAllowed = refusal(http.StatusMethodNotAllowed, "verbs are POSTed, /explain and /inspect are GET")
	router.PanicHandler = func(w http.ResponseWriter, r *http.Request, cause any) {
		h.log.Error("the handler of a request panicked", "path", r.URL.Path, "err", cause)
		fail(w, http.StatusInternalServerError, "internal error")
	}
	return router
}

// verb answers a request. Its error becomes the status of the response.
type verb func(r *http.Request) (any, error)

func (h *handler) timed(name string, answer verb) httprouter.Handle {
	return func(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
		start := time.Now()
		defer func() { h.observer.Answered(name, time.Since(start)) }()
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		result, err := answer(r)
		if err != nil {
			h.log.Warn("a request was not answered", "verb", name, "from", r.RemoteAddr, "err", err)
			fail(w, status(err), err.Error())
			return
		}
		if long, ok := result.(longAnswer); ok {
			h.bodies.write(w, long)
			return
		}
		reply(w, http.StatusOK, result)
	}
}

func (h *handler) filter(r *http.Request) (any, error) {
	args, err := h.bodies.read(r)
	if err != nil {
		return nil, err
	}
	result, err := h.scheduler.Filter(args.pod, args.names)
	if err == nil && args.whole == nil {
		return filterNames(result), nil
	}
	return args.wholeResult(result, err), nil
}

func (h *handler) prioritize(r *http.Request) (any, error) {
	args, err := h.bodies.read(r)
	if err != nil {
		return nil, err
	}
	return priorities(h.scheduler.Prioritize(args.pod, args.names)), nil
}

func (h *handler) bind(r *http.Request) (any, error) {
	pod, node, err := decodeBinding(r.Body)
	if err != nil {
		return nil, err
	}
	err = h.scheduler.Bind(r.Context(), pod, node)
	h.observer.Bound(scheduler.Outcome(err))
	if err != nil {
		h.log.Warn("not bound", "pod", pod, "node", node, "err", err)
		return extenderv1.ExtenderBindingResult{Error: err.Error()}, nil
	}
	return extenderv1.ExtenderBindingResult{}, nil
}

func status(err error) int {
	var tooLarge *http.MaxBytesError
	var retry retryError
	switch {
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.As(err, &retry):
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

// reply sends JSON. A scheduler that disconnects is no error.
func reply(w http.ResponseWriter, code int, body any) {
	encoded, err := json.Marshal(body)
	if err != nil {
		code, encoded = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be encoded as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(encoded)
}
