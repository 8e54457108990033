package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/julienschmidt/httprouter"

	"github.com/trellis-gpu/trellis/growth/bus"
	"github.com/trellis-gpu/trellis/growth/interference"
	"github.com/trellis-gpu/trellis/tuner/api"
	"github.com/trellis-gpu/trellis/tuner/internal/history"
)

// interferenceReport serves what was learned about interference. It keeps the model of the last record, because a fit
// takes longer than an answer.
type interferenceReport struct {
	source Source

	mu     sync.Mutex
	record *bus.Interference
	model  interference.Model
	err    error
}

func (i *interferenceReport) serve(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
	own, others, err := askedSet(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	snapshot, _ := i.source.Snapshot()
	model, err := i.of(snapshot)
	doc := interferenceOf(snapshot, model, err)
	if len(others) > 0 {
		prediction := slowdown(model.Predict(own, others))
		doc.Prediction = &prediction
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(doc) // the client may have disconnected
}

// of returns the model of a snapshot: the prior, with an error, if its record is not usable.
func (i *interferenceReport) of(s *history.Snapshot) (interference.Model, error) {
	if err := s.Undecodable[bus.ModelKey(bus.InterferenceModel)]; err != nil {
		return interference.Prior(), err
	}
	if s.Interference == nil {
		return interference.Prior(), nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.record != s.Interference {
		i.record, i.model = s.Interference, interference.Prior()
		var learner *interference.Learner
		if learner, i.err = interference.Restore(interference.Prior(), s.Interference.Learned); i.err == nil {
			i.model = learner.Model()
		}
	}
	return i.model, i.err
}

// askedSet parses ?own=<kind>&others=<kind>,<kind>. An empty kind is an unknown one.
func askedSet(r *http.Request) (own interference.Member, others []interference.Member, err error) {
	query := r.URL.Query()
	if !query.Has("own") && !query.Has("others") {
		return own, nil, nil
	}
	own.Kind = interference.Kind(query.Get("own"))
	for _, kind := range strings.Split(query.Get("others"), ",") {
		others = append(others, interference.Member{Kind: interference.Kind(kind)})
	}
	if len(others) >= interference.MaxSet {
		return own, nil, fmt.Errorf("others has %d kinds: give at most %d", len(others), interference.MaxSet-1)
	}
	for _, m := range append(others, own) {
		if !m.Kind.Valid() {
			return own, nil, fmt.Errorf("%.40q is no kind: give own=<kind>&others=<kind>,<kind> with kinds of the list", string(m.Kind))
		}
	}
	return own, others, nil
}

// interferenceOf converts a model to the document that the API serves.
func interferenceOf(s *history.Snapshot, m interference.Model, unusable error) api.Interference {
	doc := api.Interference{Synced: s.Synced, Kinds: []api.InterferenceKind{}, Pairs: []api.InterferencePair{}}
	switch {
	case unusable != nil:
		doc.Error = "the model on the bus is not usable, predictions are those before any measurement: " + unusable.Error()
	case s.Err != nil:
		doc.Error = "the state bus is unavailable, this is the last known state: " + s.Err.Error()
	}
	if s.Interference != nil && unusable == nil {
		doc.Observations = s.Interference.Learned.Observations
	}
	jobs := map[interference.Kind][]string{}
	for _, j := range s.Jobs {
		if j.Sample != nil && j.Sample.Kind != "" {
			jobs[j.Sample.Kind] = append(jobs[j.Sample.Kind], j.Sample.Pod.String())
		}
	}
	for _, k := range m.Kinds() {
		doc.Kinds = append(doc.Kinds, api.InterferenceKind{
			Kind:                 k.Kind,
			Jobs:                 append([]string{}, jobs[k.Kind]...),
			Activity:             k.Activity,
			Sensitivity:          k.Sensitivity,
			SensitivityDeviation: k.SensitivityDeviation,
			Pressure:             k.Pressure,
			PressureDeviation:    k.PressureDeviation,
		})
	}
	for _, p := range m.Pairs() {
		doc.Pairs = append(doc.Pairs, api.InterferencePair{
			Own:          p.Own,
			Others:       p.Others,
			Measured:     p.Measured,
			Observations: p.Observations,
			Predicted:    slowdown(p.Predicted),
		})
	}
	return doc
}

func slowdown(p interference.Prediction) api.Slowdown {
	return api.Slowdown{Mean: p.Mean, Deviation: p.Deviation, Low: p.Low, High: p.High}
}
