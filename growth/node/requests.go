package node

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

// Requests are CPU requests by container. Containers without one are absent.
type Requests map[string]growth.MilliCPU

// Sum returns the request of the whole pod.
func (r Requests) Sum() growth.MilliCPU {
	var sum growth.MilliCPU
	for _, request := range r {
		sum += request
	}
	return sum
}

// Distance returns the sum of the absolute differences of all containers.
func (r Requests) Distance(other Requests) growth.MilliCPU {
	var distance growth.MilliCPU
	for name, request := range r {
		distance += max(request-other[name], other[name]-request)
	}
	for name, request := range other {
		if _, both := r[name]; !both {
			distance += request
		}
	}
	return distance
}

// Requests returns the requests in the spec.
func (p Pod) Requests() Requests {
	requests := Requests{}
	for _, c := range p.Containers {
		if c.Request > 0 {
			requests[c.Name] = c.Request
		}
	}
	return requests
}

// Allocated returns the requests that kubelet has admitted, or those in the spec if unknown.
func (p Pod) Allocated() Requests {
	requests := p.Requests()
	for _, c := range p.Containers {
		if c.Allocated > 0 && c.Request > 0 {
			requests[c.Name] = c.Allocated
		}
	}
	return requests
}

// Original returns the requests with which the pod was created. preserved reports whether they come from the
// annotation. An annotation that does not match the pod's containers is ignored.
func (p Pod) Original() (original Requests, preserved bool) {
	now := p.Requests()
	value, ok := p.Annotations[gpushare.RequestAnnotation]
	if !ok {
		return now, false
	}
	original = Requests{}
	for part := range strings.SplitSeq(value, ",") {
		name, amount, _ := strings.Cut(part, "=")
		request, ok := parseCPU(amount)
		if !ok || now[name] == 0 {
			return now, false
		}
		original[name] = request
	}
	if len(original) != len(now) {
		return now, false
	}
	return original, true
}

// maxRequest is an upper bound for plausible requests.
const maxRequest = 10_000 * growth.Core

// parseCPU parses a CPU quantity in cores ("1", "0.5") or thousandths of a core ("500m").
func parseCPU(text string) (growth.MilliCPU, bool) {
	digits, milli := strings.CutSuffix(text, "m")
	if strings.ContainsFunc(digits, func(r rune) bool { return (r < '0' || r > '9') && r != '.' }) {
		return 0, false
	}
	amount, err := strconv.ParseFloat(digits, 64)
	if !milli {
		amount *= float64(growth.Core)
	}
	request := growth.MilliCPU(math.Ceil(amount - 1e-9))
	return request, err == nil && request > 0 && amount <= float64(maxRequest)
}

// FormatRequests returns the value of the annotation that preserves requests: "<container>=<quantity>",
// comma-separated, in the pod's order.
func (p Pod) FormatRequests(requests Requests) string {
	var parts []string
	for _, c := range p.Containers {
		if request, ok := requests[c.Name]; ok {
			parts = append(parts, fmt.Sprintf("%s=%s", c.Name, request))
		}
	}
	return strings.Join(parts, ",")
}

// Divide splits a sum of requests among the app containers in proportion to the original requests. Each part is at least
// 1m. It is at most the container's limit, and below it if the QoS class would change otherwise.
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
			part = max(min(part, c.most(p.Burstable)), 1)
		}
		divided[c.Name] = part
	}
	return divided
}

// most returns the largest request of a container with a limit.
func (c Container) most(burstable bool) growth.MilliCPU {
	if burstable {
		return c.Limit
	}
	return c.Limit - 1
}
