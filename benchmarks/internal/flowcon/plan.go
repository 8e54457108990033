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

// nodeOf is the node, from 1 on, that plays a repeat: under every policy the same one, so that their difference is not that of two
// cores, and that a node which remembers has seen the repeats before it.
func nodeOf(repeat, nodes int) int { return (repeat-1)%nodes + 1 }

// Plan lists the passes that the journal does not have, repeat by repeat, so that what is there at any time is balanced. A
// repeat that another machine, or this one before its last boot, has not come to the end of is played anew.
func Plan(schedules []Schedule, variants []string, repeats, nodes int, done []Record, boot string) []Pass {
	var passes []Pass
	for first, turn := 1, 0; first <= repeats; first, turn = first+nodes, turn+1 {
		for _, s := range schedules {
			order := slices.Clone(variants)
			if turn%2 == 1 {
				slices.Reverse(order)
			}
			for _, variant := range order {
				var left []int
				for repeat := first; repeat <= min(first+nodes-1, repeats); repeat++ {
					if policies := played(done, s.Name, repeat, variants, boot); !slices.Contains(policies, variant) {
						left = append(left, repeat)
					}
				}
				if len(left) > 0 {
					passes = append(passes, Pass{s, variant, left})
				}
			}
		}
	}
	return passes
}

// played are the policies that a repeat was played under: in the boot that has played it under all variants, else in this one.
func played(done []Record, schedule string, repeat int, variants []string, boot string) []string {
	in := map[string][]string{}
	for _, r := range done {
		if r.Schedule == schedule && r.Repeat == repeat {
			in[r.Boot] = append(in[r.Boot], r.Policy)
		}
	}
	for _, policies := range in {
		if !slices.ContainsFunc(variants, func(v string) bool { return !slices.Contains(policies, v) }) {
			return policies
		}
	}
	return in[boot]
}
