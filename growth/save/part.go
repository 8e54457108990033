package save

import "github.com/trellis-gpu/trellis/growth/wire"

// Part is what the ranks of one node have saved for a request to a job on several nodes.
type Part struct {
	// Request is the name of the request.
	Request string `json:"request"`
	// Path, SHA256 and Step are those of the checkpoint; Path is empty if these ranks have none.
	Path   string `json:"path,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	Step   int64  `json:"step,omitempty"`
	// Failed is why one of them could not save; empty if none failed.
	Failed string `json:"failed,omitempty"`
}

// PartOf returns the part of a node by the outcome of its ranks.
func PartOf(request string, o Outcome) Part {
	p := Part{Request: request}
	switch {
	case o.Saved != nil:
		p.Path, p.SHA256, p.Step = o.Saved.Path, o.Saved.SHA256, o.Saved.Step
	case !o.Nothing:
		p.Failed = o.Reason
	}
	return p
}

// Whole returns the outcome of a job by the parts of its nodes. It has saved if one part has and none has failed.
func Whole(parts []Part) Outcome {
	o := Outcome{Reason: nothing, Nothing: true}
	for _, p := range parts {
		switch {
		case p.Failed != "":
			return Outcome{Reason: p.Failed, Able: true}
		case p.Path != "" && o.Saved == nil:
			o = Outcome{Saved: &wire.Saved{Path: p.Path, SHA256: p.SHA256, Step: p.Step}, Able: true}
		}
	}
	return o
}
