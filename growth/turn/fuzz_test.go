package turn_test

import (
	"testing"
	"time"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/turn"
)

// FuzzScheduler sends any events in any order, as false or hostile jobs could, and sets the clock. A turn goes to ready jobs
// only, two jobs never get the same GPU, and a scheduler with a ready job wakes up again.
func FuzzScheduler(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 200, 1, 2, 3})
	f.Add([]byte{5, 5, 5, 0, 17, 34, 51, 255, 255, 1, 18, 35})
	jobs := []turn.Job{one("a", 1, "x"), one("b", .5, "x", "y"), one("c", 0, "y"), one("d", .2, "x")}
	f.Fuzz(func(t *testing.T, script []byte) {
		s := turn.New(turn.Default)
		now := start
		s.Step(now, turn.Planned{Jobs: jobs[:3]})
		for _, b := range script {
			now = now.Add(time.Duration(b) * 7 * time.Millisecond)
			id := jobs[int(b>>4)%len(jobs)].ID
			before := map[growth.PodUID]turn.State{}
			for _, j := range jobs {
				before[j.ID] = s.State(j.ID)
			}
			event := []turn.Event{
				turn.Opened{Job: id}, turn.Waits{Job: id}, turn.Pauses{Job: id}, turn.Left{Job: id}, turn.Woken{}, turn.Waits{Job: id},
				turn.Planned{Jobs: jobs[:1+int(b>>4)%len(jobs)], Open: b > 250}, turn.Woken{},
			}[b%8]
			if b == 253 {
				now = now.Add(-time.Hour)
			}
			effects := s.Step(now, event)
			_, planned := event.(turn.Planned)
			taken := map[growth.GPU]bool{}
			for _, granted := range effects.Grant {
				if s.State(granted) != turn.Holding {
					t.Fatalf("%s does not hold what it was granted", granted)
				}
				waits, ok := event.(turn.Waits)
				ready := before[granted] == turn.Ready || ok && waits.Job == granted
				if !ready && !planned {
					t.Fatalf("%s was not ready", granted)
				}
				for _, j := range jobs {
					for _, gpu := range j.GPUs {
						if j.ID == granted && taken[gpu] && !planned {
							t.Fatalf("%s was granted twice", gpu)
						}
						taken[gpu] = taken[gpu] || j.ID == granted
					}
				}
			}
			if !effects.Wake.IsZero() && effects.Wake.Before(now) {
				t.Fatalf("wakes %v ago", now.Sub(effects.Wake))
			}
			if len(s.Queue()) > 0 && effects.Wake.IsZero() {
				t.Fatalf("%v wait, and nothing wakes the scheduler", s.Queue())
			}
		}
	})
}
