package flowcon

import (
	"fmt"
	"slices"
	"strings"
)

// Baseline is the policy to compare with: what Kubernetes does with jobs of equal requests.
const Baseline = "fair"

// Variants are the policies to compare, with harmless under each of its named objectives.
func Variants() []string {
	return []string{Baseline, "flowcon-literal", "flowcon", "harmless", "harmless:finish", "harmless:growth"}
}

// split separates the objective from a variant, and leaves out who is taught.
func split(variant string) (policy, objective string) {
	variant, _, _ = strings.Cut(variant, "+")
	policy, objective, _ = strings.Cut(variant, ":")
	return policy, objective
}

// Pass is one schedule under one policy, with one or more repeats, each on its own node.
type Pass struct {
	Schedule Schedule
	Variant  string
	Repeats  []int
}

func (p Pass) String() string {
	return fmt.Sprintf("%s, %s, repeat %s", p.Schedule.Name, p.Variant, strings.Trim(fmt.Sprint(p.Repeats), "[]"))
}

// nodeOf returns the node of a repeat, from 1. It is the same under every policy, so that figures do not compare two
// cores, and a node with history has run the earlier repeats.
func nodeOf(repeat, nodes int) int { return (repeat-1)%nodes + 1 }

// Plan lists the passes that the journal lacks, repeat by repeat, so that an incomplete journal is balanced. A repeat
// that was not completed in one boot of a machine is run again.
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

// played lists the policies under which a repeat has run: in a boot that has run all variants, otherwise in this boot.
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
