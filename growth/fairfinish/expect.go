package fairfinish

import (
	"cmp"
	"maps"
	"slices"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/remaining"
)

// maxForesight bounds the decisions that Expect simulates. After them, the jobs that are left share fairly.
const maxForesight = 64

// Expect returns when the running jobs end under this policy. It simulates the decisions after s, which is the state that
// Decide returned for these jobs. A job without an account, or of unknown size, has no known end.
func Expect(c Config, s State, jobs []Job) []End {
	jobs = inUnit(jobs, c.Unit)
	accounts := make([]Account, len(jobs))
	for i, j := range jobs {
		accounts[i] = s.Accounts[j.ID]
	}
	f := simulate(c, s, jobs)
	all := ends(f, jobs, accounts, c.Cores.Cores())
	for i := range all {
		if all[i].Known {
			all[i].Low = f.servedEarlier(i, all[i], jobs, accounts)
		}
	}
	return all
}

// ExpectFair returns when jobs end if they share by their weights, as under policies that know no sizes.
func ExpectFair(c Config, jobs []Job) []End {
	jobs = inUnit(jobs, c.Unit)
	accounts := make([]Account, len(jobs))
	for i, j := range jobs {
		accounts[i] = Account{}.update(j, observation{cores: c.Cores.Cores()})
		accounts[i].RealWork = 0
	}
	return ends(newForecast(accounts, c.Cores.Cores()), jobs, accounts, c.Cores.Cores())
}

// simulate returns the work of the jobs over time, from 0 now.
func simulate(c Config, s State, jobs []Job) forecast {
	s = s.started()
	for id, a := range s.Accounts {
		a.Doubtful = false // the ends are by what is known, right or wrong
		s.Accounts[id] = a
	}
	s.Served = cmp.Or(s.Served, 1) // it is not known on GPUs
	jobs = slices.Clone(jobs)
	f := forecast{times: []float64{0}, fair: make([][]float64, len(jobs)), rate: make([]float64, len(jobs))}
	total := 0.0
	for i, j := range jobs {
		f.fair[i] = []float64{0}
		if a := s.Accounts[j.ID]; Sized(a.Remaining) {
			total += float64(a.Remaining.Likely) / a.width()
		}
	}
	c.Interval = max(c.Interval, growth.Seconds(2*total/c.Cores.Cores()/maxForesight).Duration())
	for range maxForesight {
		seconds, work := s.advance(c, jobs)
		if seconds == 0 {
			break
		}
		f.append(seconds, work)
	}
	rest := make([]Account, len(jobs))
	for i, j := range jobs {
		a, running := s.Accounts[j.ID]
		rest[i] = Account{
			Remaining: a.Remaining,
			Weight:    a.Weight,
			Limit:     a.Limit,
			On:        a.On,
			Speedup:   a.Speedup,
			Ended:     a.Ended || !running,
		}
	}
	f.appendForecast(newForecast(rest, s.Served*c.Cores.Cores()))
	return f
}

// advance simulates one decision, until the next one. It returns 0 if no job of known size is left.
func (s *State) advance(c Config, jobs []Job) (seconds float64, work []float64) {
	var running []Job
	var indices []int
	sized := false
	for i, j := range jobs {
		if a, known := s.Accounts[j.ID]; known && !a.Ended {
			running = append(running, j)
			indices = append(indices, i)
			sized = sized || Sized(a.Remaining)
		}
	}
	if !sized {
		return 0, nil
	}
	t := newInstance(c, *s, running)
	horizon := t.horizon()
	granted, _ := t.allocate(horizon)
	seconds = t.holdTime(horizon, granted)
	work = make([]float64, len(jobs))
	shares := t.shares(granted)
	for k, i := range indices {
		a := s.Accounts[jobs[i].ID]
		a.GrantedCores = min(shares[k]*t.capacity(k), a.Limit)
		done := growth.Work(granted[k] / horizon * seconds)
		if Sized(a.Remaining) {
			done = min(done, a.Remaining.Likely)
			a.Remaining = less(a.Remaining, done)
			a.Ended = a.Remaining.Likely <= tolerance
		}
		a.RealWork += done
		jobs[i].ToTarget = less(jobs[i].ToTarget, done)
		jobs[i].Deadline.Work = less(jobs[i].Deadline.Work, done)
		s.Accounts[jobs[i].ID] = a
		work[i] = float64(done)
	}
	s.advanceFair(t.cores, seconds)
	s.At = s.At.Add(growth.Seconds(seconds).Duration())
	maps.DeleteFunc(s.Accounts, func(_ growth.PodUID, a Account) bool { return a.Ended && !a.active() })
	return seconds, work
}

// less returns the estimate after some of the work is done.
func less(e remaining.Estimate, done growth.Work) remaining.Estimate {
	e.Low = max(e.Low-done, 0)
	e.Likely = max(e.Likely-done, 0)
	e.High = max(e.High-done, 0)
	return e
}

// append adds a period in which each job does some work.
func (f *forecast) append(seconds float64, work []float64) {
	f.times = append(f.times, f.times[len(f.times)-1]+seconds)
	for i, w := range work {
		f.fair[i] = append(f.fair[i], f.last(i)+w)
	}
}

// appendForecast adds what follows.
func (f *forecast) appendForecast(next forecast) {
	for k := 1; k < len(next.times); k++ {
		work := make([]float64, len(next.fair))
		for i, w := range next.fair {
			work[i] = w[k] - w[k-1]
		}
		f.append(next.times[k]-next.times[k-1], work)
	}
	f.rate = next.rate
}
