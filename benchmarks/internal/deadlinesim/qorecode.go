package deadlinesim

// qoreCode is Qore-DL as its code is: four modes, a genetic algorithm, and a restart for every change. The repairs that it needs
// to run here are in the package comment.
type qoreCode struct{}

func (qoreCode) priority(q *qore, c *cluster, p *plan, load float64) float64 {
	return literalPriority(q, c, p, load)
}

func (qoreCode) skips() bool { return false }

func (qoreCode) inPlace() bool { return false }

func (r qoreCode) adjust(q *qore, c *cluster) {
	for _, a := range r.cases(q, c) {
		if a.pods == nil {
			continue // it waits for room after the adjustment before this one
		}
		if s, ok := r.size(q, c, a); ok {
			q.apply(c, a.plan, s)
		}
	}
}

// cases implements the modes by the signs of the timeout degrees. U does not matter.
func (qoreCode) cases(q *qore, c *cluster) []adjustment {
	all := q.timeouts(c)
	if len(all) == 0 {
		return nil
	}
	worst, slackest := all[len(all)-1], all[0]
	near, far := all[max(0, len(all)-3):], all[:min(3, len(all))]
	switch {
	case worst.timeout <= 0 && freePart(c) > 0.4: // mode 1
		sensitive := most(near, func(p *plan) float64 { return growSensitivity(c, p) })
		return distinct(grow(worst, true), grow(sensitive, true))
	case worst.timeout <= 0: // mode 4
		insensitive := most(far, func(p *plan) float64 { return -shrinkSensitivity(c, p) })
		return distinct(shrink(slackest), shrink(insensitive))
	case slackest.timeout < 0: // mode 2
		var early []adjustment
		for _, a := range far {
			if a.timeout < 0 {
				early = append(early, a)
			}
		}
		return distinct(shrink(most(early, func(p *plan) float64 { return -shrinkSensitivity(c, p) })), grow(worst, false))
	}
	// mode 3
	if len(all) == 1 {
		return []adjustment{grow(worst, false)}
	}
	return []adjustment{grow(worst, false), grow(all[len(all)-2], false)}
}

func grow(a adjustment, byCost bool) adjustment {
	a.grow, a.byCost = true, byCost
	return a
}

func shrink(a adjustment) adjustment {
	a.grow = false
	return a
}

// distinct returns both adjustments, or one if they are of the same job.
func distinct(a, b adjustment) []adjustment {
	if a.plan == b.plan {
		return []adjustment{a}
	}
	return []adjustment{a, b}
}

// freePart is the part of the cluster that nothing uses.
func freePart(c *cluster) float64 {
	cores, memory, usedCores, usedMemory := 0.0, 0.0, 0.0, 0.0
	for i, l := range c.hostLoads() {
		h := c.layout.Hosts[i]
		cores, memory = cores+h.Cores, memory+h.Memory
		usedCores, usedMemory = usedCores+l.cpu*h.Cores, usedMemory+l.memory*h.Memory
	}
	return 0.75*(1-usedCores/cores) + 0.25*(1-usedMemory/memory)
}

// size takes the better one of the genetic algorithm's sizes and one worker more or fewer.
func (qoreCode) size(q *qore, c *cluster, a adjustment) (size, bool) {
	vertical, found := evolve(q, c, a)
	steps := a.remaining() / float64(a.workers)
	need := steps * a.time(a.cpu)
	gain := need - steps*a.time(vertical.cpu)
	if !a.grow {
		return vertical, found
	}
	if a.workers < mostWorkers && q.roomForWorker(c, a.plan) {
		if other := horizontalGain(a.plan, need); !found || other > gain {
			return a.withWorker(), true
		}
	}
	return vertical, found
}

// mostWorkers is the largest number of workers of a job.
const mostWorkers = 8

// horizontalGain is the time that one more worker is expected to save. The restart has the wrong sign, as in the code.
func horizontalGain(p *plan, need float64) float64 {
	w := float64(p.workers)
	return need + restartSeconds - (p.total/(w+1)-p.done/w+1)*p.time(p.cpu)
}

// withWorker returns the size with one more worker, and one more server if there are few.
func (p *plan) withWorker() size {
	s := size{
		cpu:     p.cpu,
		memory:  p.memory,
		workers: p.workers + 1,
		servers: p.servers,
	}
	if p.servers < (s.workers+3)/4 {
		s.servers++
	}
	return s
}
