package move

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trellis-gpu/trellis/growth"
)

// Past is a move that has ended.
type Past struct {
	ID    string          `json:"id"`
	From  growth.NodeName `json:"from"`
	To    growth.NodeName `json:"to,omitempty"`
	State State           `json:"state"`
	// Gone is set if the old pod was evicted.
	Gone    bool           `json:"gone,omitempty"`
	Cause   Cause          `json:"cause,omitempty"`
	Because string         `json:"because,omitempty"`
	Why     string         `json:"why,omitempty"`
	Delay   growth.Seconds `json:"delaySeconds,omitempty"`
	// Pods is the number of pods that have moved together; 0 for a pod that has moved alone.
	Pods int `json:"pods,omitempty"`
	// Took is the time of the whole move.
	Took growth.Seconds `json:"tookSeconds,omitempty"`
	// Replaced is the part of it from the checkpoint until the successor had a node, if the move is done. It depends on the cluster
	// more than on the job. Records of earlier releases do not have it.
	Replaced growth.Seconds `json:"replacedSeconds,omitempty"`
	// Save is the part of it until the checkpoint was complete, Start that from the node of the successor until its containers ran, and
	// Restore that until its first step after the checkpoint. They depend on the job.
	Save    growth.Seconds `json:"saveSeconds,omitempty"`
	Start   growth.Seconds `json:"startSeconds,omitempty"`
	Restore growth.Seconds `json:"restoreSeconds,omitempty"`
	// NoImage is set if the node did not have the job's image, so that Start is mostly the time to pull it.
	NoImage bool `json:"noImage,omitempty"`
	// Ended is when it ended, and New the pod that continues the job.
	Ended time.Time     `json:"ended"`
	New   growth.PodUID `json:"new,omitempty"`
}

// maxPast bounds the moves that a History lists.
const maxPast = 8

// History is the moves of one job that have ended.
type History struct {
	// Past are the last ones, the newest last.
	Past []Past `json:"past"`
	// Count is the number of all moves for which the job was evicted.
	Count int `json:"count"`
}

// With returns the history with a record that has ended. It returns the history itself if it has that move already.
func (h History) With(r Record) History {
	if slices.ContainsFunc(h.Past, func(p Past) bool { return p.ID == r.ID }) {
		return h
	}
	p := Past{
		ID:      r.ID,
		From:    r.From,
		To:      r.To,
		State:   r.State,
		Gone:    r.Gone,
		Cause:   r.Cause,
		Because: r.Because,
		Why:     r.Why,
		Delay:   r.Delay,
		Took:    growth.Seconds(r.Since.Sub(r.Began).Seconds()),
		Ended:   r.Since,
		New:     r.New,
	}
	if r.On != "" {
		p.To = r.On
	}
	if r.State == Done {
		cost := r.Cost()
		p.Replaced = growth.Seconds((cost.Evict + cost.Place).Seconds())
		p.Save = growth.Seconds(cost.Save.Seconds())
		p.Start = growth.Seconds(cost.Start.Seconds())
		p.Restore = growth.Seconds(cost.Restore.Seconds())
		p.NoImage = r.NoImage
	}
	if r.Gang != nil {
		p.Pods = len(r.Gang.Pods)
	}
	h.Past = append(slices.Clone(h.Past), p)
	h.Past = h.Past[max(0, len(h.Past)-maxPast):]
	if p.Gone {
		h.Count++
	}
	return h
}

// String lists the moves for gpushare.MovesAnnotation.
func (h History) String() string {
	lines := make([]string, len(h.Past))
	for i, p := range h.Past {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// String is a line of text, with tabs between its fields.
func (p Past) String() string {
	reason := "requested"
	if p.Because != "" {
		reason = p.Because
	}
	if p.Pods > 0 {
		reason += fmt.Sprintf("; with all %d pods of its job", p.Pods)
	}
	if p.Why != "" {
		reason += "; ended early: " + p.Why
	}
	to := cmp.Or(p.To, "-")
	line := []string{p.Ended.UTC().Format(time.RFC3339), string(p.From), string(to), string(p.State), p.times(), flat(reason)}
	return strings.Join(line, "\t")
}

// maxReason bounds the length of a reason in a line.
const maxReason = 500

// flat returns a text as a part of a line.
func flat(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	return text
}

// Continues reports whether a pod is the one that has continued the job after its last move.
func (h History) Continues(pod growth.PodUID) bool {
	for _, p := range slices.Backward(h.Past) {
		if p.New != "" {
			return p.New == pod
		}
	}
	return false
}

// A job whose move has failed waits for the first of these, and twice as long after each further failure.
const (
	firstRetry = 10 * time.Minute
	lastRetry  = 24 * time.Hour
)

// Retry returns when the job may move again without a request: the zero time unless its last moves have failed.
func (h History) Retry() time.Time {
	wait := firstRetry / 2
	for i, p := range slices.Backward(h.Past) {
		if p.State == Done {
			break
		}
		wait = min(2*wait, lastRetry)
		if i == 0 {
			break
		}
	}
	if wait < firstRetry {
		return time.Time{}
	}
	return h.Past[len(h.Past)-1].Ended.Add(wait)
}
