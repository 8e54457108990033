package webhook

import (
	"net/http"

	"github.com/julienschmidt/httprouter"

	"github.com/trellis-gpu/trellis/growth"
)

// inspect answers tools that were written for gpushare's extender. An answer with nothing but an error is a 404.
func (h *handler) inspect(w http.ResponseWriter, _ *http.Request, asked httprouter.Params) {
	shown := h.decider.Inspect(growth.NodeName(asked.ByName("node")))
	code := http.StatusOK
	if shown.Error != "" {
		code = http.StatusNotFound
	}
	reply(w, code, shown)
}
