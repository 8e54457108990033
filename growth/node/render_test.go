package node_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/node"
)

// step steps the node, writes the effects to the transcript, opens slots and executes resizes.
func (s *scenario) step(e node.Event) {
	effects := s.node.Step(s.now, e)
	s.wake = effects.Wake
	s.render(effects)
	s.gpus.follow(effects.Turns)
	for _, c := range effects.Configs {
		s.configs[c.Slot] = c.Config
	}
	if len(effects.Open) > 0 {
		s.step(node.SlotsOpened{Slots: effects.Open})
	}
	for _, r := range effects.Resizes {
		s.resize(r)
	}
}

// render writes the effects to the transcript, one per line. From the log it takes the decisions that change a share.
// It omits samples and memory, which are published and saved in every round.
func (s *scenario) render(e node.Effects) {
	for _, entry := range e.Log {
		fields := fieldsOf(entry)
		if fmt.Sprint(fields["from"]) == fmt.Sprint(fields["to"]) {
			continue
		}
		what := map[string]string{"decided": "decision ", "GPU time decided": "GPU time "}[entry.Message]
		if what != "" {
			s.note("%s %s: %v → %v, because of %v: %v", what, podName(fields["job"]), fields["from"], fields["to"], fields["because"], fields["reason"])
		}
	}
	for _, slot := range e.Close {
		s.note("close     %s", slot)
	}
	for _, c := range e.Configs {
		s.note("config    %s: generation %d%s%s", c.Slot, c.Config.Generation, number(", loaders", c.Config.Loaders), number(", batch size", c.Config.BatchSize))
	}
	for _, d := range e.Duties {
		s.note("duty      %s: sequence %d, %s of the time", d.Slot, d.Duty.Sequence, d.Duty.Duty)
	}
	s.renderTurns(e.Turns)
	for _, f := range e.Follow {
		s.note("follow    %s: %s", f.Pod.Name, f.Progress.Source)
	}
	for _, pod := range e.Unfollow {
		s.note("unfollow  %s", strings.TrimPrefix(string(pod), "uid-"))
	}
	for _, r := range e.Resizes {
		original := ""
		if r.Original != "" {
			original = ", preserve " + r.Original
		}
		s.note("resize    %s: %s → %s%s", r.Pod.Name, r.From, r.To, original)
	}
	for _, event := range e.Events {
		kind := "event"
		if event.Warning {
			kind = "warning"
		}
		s.note("%-9s %s: %s: %s", kind, event.Pod.Name, event.Reason, event.Message)
	}
	for _, a := range e.Annotations {
		s.note("annotate  %s: %s=%s", a.Pod.Name, a.Name, a.Value)
		s.pods[a.Pod.Name].Annotations[a.Name] = a.Value
	}
	for _, due := range e.Samples {
		if due.Urgent {
			s.note("publish   %s at once", strings.TrimPrefix(string(due.Pod), "uid-"))
		}
	}
	for _, pod := range e.Forget {
		s.note("forget    the sample of %s", strings.TrimPrefix(string(pod), "uid-"))
	}
}

// note adds a line to the transcript.
func (s *scenario) note(format string, args ...any) {
	line := fmt.Sprintf("%5.1fs  %s", s.now.Sub(s.start).Seconds(), fmt.Sprintf(format, args...))
	s.lines = append(s.lines, line)
}

// output returns the lines since the last call.
func (s *scenario) output() string {
	lines := s.lines
	s.lines = nil
	if len(lines) == 0 {
		return "nothing\n"
	}
	return strings.Join(slices.Clip(lines), "\n") + "\n"
}

func fieldsOf(entry node.LogEntry) map[string]any {
	fields := map[string]any{}
	for i := 0; i+1 < len(entry.Fields); i += 2 {
		fields[fmt.Sprint(entry.Fields[i])] = entry.Fields[i+1]
	}
	return fields
}

func podName(field any) string {
	if pod, ok := field.(growth.PodRef); ok {
		return pod.Name
	}
	return fmt.Sprint(field)
}

func number(what string, n *int) string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf("%s %d", what, *n)
}
