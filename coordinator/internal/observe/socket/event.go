package socket

import "github.com/trellis-gpu/trellis/growth/wire"

// Event is a Connected, Reported, Received, Disconnected, Delivered or Faults.
type Event interface{ event() }

type (
	// Connected means that a job has opened a connection.
	Connected struct{}
	// Reported has the reports of a job that were read at once, oldest first. Connection identifies the connection, and
	// so the process.
	Reported struct {
		Connection int64
		Reports    []wire.Progress
	}
	// Received is another message from a job.
	Received struct {
		Connection int64
		Message    wire.Message
	}
	// Disconnected means that a connection has ended. It is the last event of the connection, except for Faults.
	Disconnected struct{ Connection int64 }
	// Delivered means that a config of this generation was written to a connection.
	Delivered struct{ Generation int64 }
	// Faults counts the rejected lines of a connection since the previous Faults.
	Faults struct {
		// Malformed counts lines that are not messages, Unknown messages of an unknown type, Dropped lines above the
		// rate.
		Malformed, Unknown, Dropped int
		// Last is the error of the last malformed line.
		Last error
		// Closed means that the connection was closed because of too many malformed lines.
		Closed bool
	}
)

func (Connected) event()    {}
func (Reported) event()     {}
func (Received) event()     {}
func (Disconnected) event() {}
func (Delivered) event()    {}
func (Faults) event()       {}
