package timeline

import (
	"strconv"
	"time"
)

// Aspect is the part of a job's state that changed.
type Aspect string

// The observed aspects.
const (
	StateChange    Aspect = "state"
	NodeChange     Aspect = "node"
	CategoryChange Aspect = "category"
	ShareChange    Aspect = "share" // the CPU request in force
	GPUShareChange Aspect = "gpu share"
	LoaderChange   Aspect = "loaders"
	RestartChange  Aspect = "restarts"
)

// Change is one difference between two readings.
type Change struct {
	At   time.Time `json:"at"`
	Job  string    `json:"job"`
	Kind string    `json:"kind"`
	What Aspect    `json:"what"`
	From string    `json:"from"`
	To   string    `json:"to"`
}

// Own is the number of loaders of a job that has not received advice yet.
const Own = "its own"

// changes compares one job in two readings. The first value of category, shares or loaders is not a change, unless the
// job's loaders came from advice.
func changes(at time.Time, was, is Job) []Change {
	var found []Change
	add := func(what Aspect, from, to string) {
		if from != to {
			found = append(found, Change{At: at, Job: is.Name, Kind: is.Kind, What: what, From: from, To: to})
		}
	}
	add(StateChange, string(was.State), string(is.State))
	add(RestartChange, strconv.Itoa(was.Restarts), strconv.Itoa(is.Restarts))
	if is.Node != "" {
		add(NodeChange, string(was.Node), string(is.Node))
	}
	if was.Category != "" && is.Category != "" {
		add(CategoryChange, string(was.Category), string(is.Category))
	}
	if was.Request > 0 && is.Request > 0 {
		add(ShareChange, was.Request.String(), is.Request.String())
	}
	if was.GPUShare != nil && is.GPUShare != nil {
		add(GPUShareChange, was.GPUShare.String(), is.GPUShare.String())
	}
	switch {
	case is.Loaders == nil:
	case was.Loaders != nil:
		add(LoaderChange, strconv.Itoa(*was.Loaders), strconv.Itoa(*is.Loaders))
	case is.Acknowledged > 0:
		add(LoaderChange, Own, strconv.Itoa(*is.Loaders))
	}
	return found
}
