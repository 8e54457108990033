package lines

import "github.com/trellis-gpu/trellis/growth/wire"

// Sink receives what is found in the text of one container.
type Sink interface {
	// Report receives a report. counted means that its step is the number of reports and not part of the text.
	Report(p wire.Progress, counted bool)
	// Restarted is called when the container has restarted.
	Restarted()
	// Unmatched is called at most once, if none of the first records has a report.
	Unmatched(records int, example string)
	// Unreadable is called when the text becomes unreadable, once until it is readable again.
	Unreadable(err error)
}
