package flowcon

import (
	"fmt"
	"slices"
	"strings"
)

// Baseline is what everyone is compared with: what Kubernetes does with jobs that ask for the same.
const Baseline = "fair"

// Variants are the policies that are compared: harmless under each of its named objectives, too.
func Variants() []string {
	return []string{Baseline, "flowcon-literal", "flowcon", "harmless", "harmless:finish", "harmless:growth"}
}

// split takes the objective off a variant.
func split(variant string) (policy, objective string) {
	policy, objective, _ = strings.Cut(variant, ":")
	return policy, objective
}

// Pass is one schedule to be played under one policy: Repeat on the first node, the next repeats on the others.
type Pass struct {
	Schedule Schedule
	Variant  string
	Repeat   int
}

func (p Pass) String() string {
	return fmt.Sprintf("%s, %s, repeat %d", p.Schedule.Name, p.Variant, p.Repeat)
}

// Plan lists the passes that the journal does not have, repeat by repeat, so that what is there at any time is balanced.
func Plan(schedules []Schedule, variants []string, repeats, nodes int, done []Record) []Pass {
	var passes []Pass
	for repeat, turn := 1, 0; repeat <= repeats; repeat, turn = repeat+nodes, turn+1 {
		for _, s := range schedules {
			order := slices.Clone(variants)
			if turn%2 == 1 {
				slices.Reverse(order)
			}
			for _, variant := range order {
				if !slices.ContainsFunc(done, func(r Record) bool {
					return r.Schedule == s.Name && r.Policy == variant && r.Repeat == repeat
				}) {
					passes = append(passes, Pass{s, variant, repeat})
				}
			}
		}
	}
	return passes
}
