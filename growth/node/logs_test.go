package node_test

import "github.com/trellis-gpu/trellis/growth/node"

// log reports a problem of a job's log or file.
func (s *scenario) log(name, problem, text string) {
	switch problem {
	case "unmatched":
		s.step(node.LogUnmatched{Pod: uid(name), Lines: 60, Example: text})
	case "format":
		s.step(node.LogFormatUnknown{Pod: uid(name), Err: "it looks " + text})
	case "unreadable":
		s.step(node.ProgressUnreadable{Pod: uid(name), Err: text})
	default:
		s.t.Fatalf("unknown problem %q of a log", problem)
	}
}
