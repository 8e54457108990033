package pods

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Requests are CPU requests by container; containers without one are absent.
type Requests map[string]growth.MilliCPU

// Sum adds them up.
func (r Requests) Sum() growth.MilliCPU {
	var sum growth.MilliCPU
	for _, request := range r {
		sum += request
	}
	return sum
}

// Apart is how far two divisions of a pod's CPU are from one another: the differences of all containers together.
func (r Requests) Apart(other Requests) growth.MilliCPU {
	var apart growth.MilliCPU
	for name, request := range r {
		apart += max(request-other[name], other[name]-request)
	}
	for name, request := range other {
		if _, both := r[name]; !both {
			apart += request
		}
	}
	return apart
}

// Requests are those in the spec now.
func (p Pod) Requests() Requests {
	now := Requests{}
	for _, c := range p.Containers {
		if c.Request > 0 {
			now[c.Name] = c.Request
		}
	}
	return now
}

// InForce are the requests that kubelet has admitted; the spec's where it does not say.
func (p Pod) InForce() Requests {
	given := p.Requests()
	for _, c := range p.Containers {
		if c.Given > 0 && c.Request > 0 {
			given[c.Name] = c.Given
		}
	}
	return given
}

// Original returns the requests that the pod was made with, and whether they are kept on it already. An annotation
// that does not fit the pod is not believed.
func (p Pod) Original() (original Requests, kept bool) {
	now := p.Requests()
	value, ok := p.Annotations[gpushare.RequestAnnotation]
	if !ok {
		return now, false
	}
	original = Requests{}
	for part := range strings.SplitSeq(value, ",") {
		name, amount, _ := strings.Cut(part, "=")
		quantity, err := resource.ParseQuantity(amount)
		if err != nil || now[name] == 0 || quantity.MilliValue() <= 0 || quantity.MilliValue() > int64(maxRequest) {
			return now, false
		}
		original[name] = growth.MilliCPU(quantity.MilliValue())
	}
	if len(original) != len(now) {
		return now, false
	}
	return original, true
}

// maxRequest is more than any machine has.
const maxRequest = 10_000 * growth.Core

// Kept is the annotation that keeps requests, in the pod's order.
func (p Pod) Kept(requests Requests) string {
	var parts []string
	for _, c := range p.Containers {
		if request, ok := requests[c.Name]; ok {
			parts = append(parts, fmt.Sprintf("%s=%s", c.Name, request))
		}
	}
	return strings.Join(parts, ",")
}

// Divide splits a pod's request among its containers in proportion to what they were made with: whole thousandths,
// at least one each, and below a container's limit, so that the QoS class stays what it is.
func (p Pod) Divide(total growth.MilliCPU, original Requests) Requests {
	divided, sum := Requests{}, original.Sum()
	if sum == 0 {
		return divided
	}
	for _, c := range p.Containers {
		was, ok := original[c.Name]
		if !ok {
			continue
		}
		part := max(total*was/sum, 1)
		if c.Limit > 0 {
			part = max(min(part, c.Limit-1), 1)
		}
		divided[c.Name] = part
	}
	return divided
}
