package webhook

import (
	"net/http"

	"github.com/julienschmidt/httprouter"

	"github.com/trellis-gpu/trellis/growth"
)

// inspect answers the tools of Aliyun gpushare's extender. An answer with only an error is a 404.
func (h *handler) inspect(w http.ResponseWriter, _ *http.Request, params httprouter.Params) {
	inspection := h.scheduler.Inspect(growth.NodeName(params.ByName("node")))
	code := http.StatusOK
	if inspection.Error != "" {
		code = http.StatusNotFound
	}
	reply(w, code, inspection)
}
