package modelcheck

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// step lets one thing happen. Its numbers select from what exists at that moment, modulo.
type step struct {
	do      string
	a, b, c int
}

func (s step) String() string { return fmt.Sprintf("%s:%d,%d,%d", s.do, s.a, s.b, s.c) }

func format(steps []step) string {
	words := make([]string, len(steps))
	for i, s := range steps {
		words[i] = s.String()
	}
	return strings.Join(words, " ")
}

func parse(text string) ([]step, error) {
	var steps []step
	for word := range strings.FieldsSeq(text) {
		var s step
		do, numbers, _ := strings.Cut(word, ":")
		if actions[do] == nil {
			return nil, fmt.Errorf("step %q: unknown action %q", word, do)
		}
		if _, err := fmt.Sscanf(numbers, "%d,%d,%d", &s.a, &s.b, &s.c); err != nil {
			return nil, fmt.Errorf("step %q: %w", word, err)
		}
		s.do = do
		steps = append(steps, s)
	}
	return steps, nil
}

// actions are the functions of all steps.
var actions = map[string]func(h *harness, a, b, c int){
	"create":    (*harness).create,     // a pod of size c, on b GPUs, unless there are a pods already
	"touch":     (*harness).touch,      // another client updates pod a
	"delete":    (*harness).delete,     // pod a
	"end":       (*harness).end,        // pod a
	"bind":      (*harness).bind,       // replica a starts to bind pod b to node c
	"reconcile": (*harness).reconcile,  // replica a
	"call":      (*harness).call,       // coroutine a makes its next call, with outcome b
	"bus":       (*harness).deliverBus, // to replica a; b: delivered twice
	"pods":      (*harness).deliverPod, // to replica a; b: the c-th event of the queue
	"relist":    (*harness).relist,     // of replica a: the watch on the bus; b: on pods
	"crash":     (*harness).crash,      // replica a
	"admit":     (*harness).admit,      // kubelet a; b: elsewhere than planned
	"record":    (*harness).record,     // device plugin a records one pod; b: its first container only
	"reap":      (*harness).reap,       // kubelet a frees the devices of ended pods
	"health":    (*harness).health,     // GPU b of node a becomes unhealthy or healthy
	"plugin":    (*harness).plugin,     // device plugin a stops or starts
	"toggle":    (*harness).toggle,     // the bus becomes unavailable or available
	"pass":      (*harness).pass,       // a seconds; b: a minutes
	"settle":    (*harness).settle,     // until everything is at rest
}

// profile has the weight of each step in a run.
type profile map[string]int

// profiles are kinds of faults. The first one has concurrency without faults, where over-commitment is never excused.
var profiles = []profile{
	{"create": 9, "touch": 2, "delete": 3, "end": 3, "bind": 16, "reconcile": 4, "call": 55, "bus": 25, "pods": 25, "admit": 8, "record": 8, "reap": 6, "pass": 4, "settle": 1},
	{"create": 9, "touch": 3, "delete": 3, "end": 3, "bind": 16, "reconcile": 6, "call": 55, "bus": 20, "pods": 20, "relist": 3, "crash": 3, "admit": 6, "record": 6, "reap": 5, "health": 1, "plugin": 1, "pass": 6, "settle": 1},
	{"create": 9, "delete": 3, "end": 3, "bind": 16, "reconcile": 6, "call": 55, "bus": 20, "pods": 20, "admit": 9, "record": 9, "reap": 6, "pass": 4, "settle": 1},
	{"create": 9, "touch": 2, "delete": 3, "end": 3, "bind": 16, "reconcile": 6, "call": 55, "bus": 20, "pods": 20, "relist": 2, "crash": 2, "admit": 8, "record": 8, "reap": 5, "health": 1, "plugin": 1, "toggle": 3, "pass": 4, "settle": 1},
}

// randomSteps returns n steps of a seed.
func randomSteps(seed uint64, n int) []step {
	random := rand.New(rand.NewPCG(seed, 7))
	kind := int(seed) % len(profiles)
	var bag []string
	for _, do := range sortedKeys(profiles[kind]) {
		for range profiles[kind][do] {
			bag = append(bag, do)
		}
	}
	steps := make([]step, n)
	for i := range steps {
		s := step{do: bag[random.IntN(len(bag))], a: random.IntN(64), b: random.IntN(64), c: random.IntN(64)}
		switch {
		case s.do == "admit" && kind < 2:
			s.b = 0 // kubelet follows the plan
		case s.do == "call" && kind == 0 && s.b != 0:
			s.b = succeeded
		}
		steps[i] = s
	}
	return append(steps, step{do: "settle"})
}
