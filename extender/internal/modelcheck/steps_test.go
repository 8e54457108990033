package model

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// step lets one thing happen. Its numbers choose among what there is at that moment, modulo.
type step struct {
	do      string
	a, b, c int
}

func (s step) String() string { return fmt.Sprintf("%s:%d,%d,%d", s.do, s.a, s.b, s.c) }

func printed(steps []step) string {
	words := make([]string, len(steps))
	for i, s := range steps {
		words[i] = s.String()
	}
	return strings.Join(words, " ")
}

func parsed(text string) ([]step, error) {
	var steps []step
	for word := range strings.FieldsSeq(text) {
		var s step
		do, numbers, _ := strings.Cut(word, ":")
		if _, err := fmt.Sscanf(numbers, "%d,%d,%d", &s.a, &s.b, &s.c); err != nil || actions[do] == nil {
			return nil, fmt.Errorf("step %q: %w", word, err)
		}
		s.do = do
		steps = append(steps, s)
	}
	return steps, nil
}

// actions are all steps there are.
var actions = map[string]func(w *world, a, b, c int){
	"create": (*world).create, // a pod of size c, on b GPUs, unless there are a already
	"touch":  (*world).touch,  // somebody else writes to pod a
	"delete": (*world).delete, // pod a
	"end":    (*world).end,    // pod a
	"bind":   (*world).bind,   // replica a is asked to bind pod b to node c
	"sweep":  (*world).sweep,  // replica a
	"call":   (*world).call,   // coroutine a makes its next call, with outcome b
	"books":  (*world).hears,  // replica a hears of the bus; b: delivered twice
	"pods":   (*world).news,   // replica a hears of pods; b: c-th in the queue
	"relist": (*world).relist, // replica a lost its watch on the bus, or b: on pods
	"crash":  (*world).crash,  // replica a
	"admit":  (*world).admit,  // kubelet a; b: elsewhere than planned
	"record": (*world).record, // device plugin a writes down one pod, or b: its first container only
	"reap":   (*world).reap,   // kubelet a gives back what ended
	"health": (*world).health, // GPU b of node a falls ill or is well again
	"plugin": (*world).plugin, // device plugin a dies or is back
	"away":   (*world).toggle, // the bus goes away or comes back
	"pass":   (*world).pass,   // a seconds, or a minutes where b
	"settle": (*world).settle, // until all is quiet
}

// profile weighs what happens in a run.
type profile map[string]int

// profiles are kinds of trouble. The first is peace with concurrency, which knows no excuse for an imbalance.
var profiles = []profile{
	{"create": 9, "touch": 2, "delete": 3, "end": 3, "bind": 16, "sweep": 4, "call": 55, "books": 25, "pods": 25, "admit": 8, "record": 8, "reap": 6, "pass": 4, "settle": 1},
	{"create": 9, "touch": 3, "delete": 3, "end": 3, "bind": 16, "sweep": 6, "call": 55, "books": 20, "pods": 20, "relist": 3, "crash": 3, "admit": 6, "record": 6, "reap": 5, "health": 1, "plugin": 1, "pass": 6, "settle": 1},
	{"create": 9, "delete": 3, "end": 3, "bind": 16, "sweep": 6, "call": 55, "books": 20, "pods": 20, "admit": 9, "record": 9, "reap": 6, "pass": 4, "settle": 1},
	{"create": 9, "touch": 2, "delete": 3, "end": 3, "bind": 16, "sweep": 6, "call": 55, "books": 20, "pods": 20, "relist": 2, "crash": 2, "admit": 8, "record": 8, "reap": 5, "health": 1, "plugin": 1, "away": 3, "pass": 4, "settle": 1},
}

// drawn draws n steps from a seed.
func drawn(seed uint64, n int) []step {
	dice := rand.New(rand.NewPCG(seed, 7))
	kind := int(seed) % len(profiles)
	var bag []string
	for _, do := range sortedKeys(profiles[kind]) {
		for range profiles[kind][do] {
			bag = append(bag, do)
		}
	}
	steps := make([]step, n)
	for i := range steps {
		s := step{do: bag[dice.IntN(len(bag))], a: dice.IntN(64), b: dice.IntN(64), c: dice.IntN(64)}
		switch {
		case s.do == "admit" && kind < 2:
			s.b = 0 // kubelet follows the plan
		case s.do == "call" && kind == 0 && s.b != 0:
			s.b = good
		}
		steps[i] = s
	}
	return append(steps, step{do: "settle"})
}
