package movechaos

import (
	"fmt"
	"time"
)

// Lasting finds what is wrong for longer than a program needs to notice it: the watches of the bus and of the API server lag behind each
// other, and a program that was killed is away for a while.
type Lasting struct {
	Limit time.Duration
	since map[string]time.Time
}

// Observe returns what was wrong at all observations of the last Limit, with its time. It returns a text once, as long as that stays wrong.
func (l *Lasting) Observe(now time.Time, wrong []string) (lasting []string) {
	since := map[string]time.Time{}
	for _, text := range wrong {
		first, before := l.since[text]
		if !before {
			first = now
		}
		since[text] = first
		if !first.IsZero() && now.Sub(first) > l.Limit {
			lasting = append(lasting, fmt.Sprintf("%s, for %s", text, now.Sub(first).Round(time.Second)))
			since[text] = time.Time{}
		}
	}
	l.since = since
	return lasting
}

// Unknown starts over: without the bus no program can write what is missing on it.
func (l *Lasting) Unknown() { l.since = nil }
