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

// Pass is one schedule to be played under one policy: each of its repeats on a node of its own.
type Pass struct {
	Schedule Schedule
	Variant  string
	Repeats  []int
}

func (p Pass) String() string {
	return fmt.Sprintf("%s, %s, repeat %s", p.Schedule.Name, p.Variant, strings.Trim(fmt.Sprint(p.Repeats), "[]"))
}

// Plan lists the passes that the journal does not have, repeat by repeat, so that what is there at any time is balanced.
func Plan(schedules []Schedule, variants []string, repeats, nodes int, done []Record) []Pass {
	var passes []Pass
	for first, turn := 1, 0; first <= repeats; first, turn = first+nodes, turn+1 {
		for _, s := range schedules {
			order := slices.Clone(variants)
			if turn%2 == 1 {
				slices.Reverse(order)
			}
			for _, variant := range order {
				if left := missing(done, s.Name, variant, first, min(first+nodes-1, repeats)); len(left) > 0 {
					passes = append(passes, Pass{s, variant, left})
				}
			}
		}
	}
	return passes
}

// missing lists the repeats from first to last that there is no record of.
func missing(done []Record, schedule, variant string, first, last int) []int {
	var left []int
	for repeat := first; repeat <= last; repeat++ {
		if !slices.ContainsFunc(done, func(r Record) bool {
			return r.Schedule == schedule && r.Policy == variant && r.Repeat == repeat
		}) {
			left = append(left, repeat)
		}
	}
	return left
}
