package deadlinesim

// Host is a machine: cores and gigabytes.
type Host struct{ Cores, Memory float64 }

// Layout is a cluster with the background load of each host.
type Layout struct {
	Name  string
	Hosts []Host
	// Traced has the machine of the published trace whose load each host has.
	Traced []string
	// Jobs is the number of jobs of a workload.
	Jobs int
}

// machines are those of the published trace. Their utilisations are multiples of a thousandth of a core, which gives their
// sizes: 32, 24 and 16 cores, together the published 160. The memory sizes are those of Qore-DL's code whose sum is the
// published one.
var machines = []struct {
	name string
	host Host
}{
	{"k8s-master", Host{32, 251}},
	{"k8s-worker0", Host{24, 94}},
	{"k8s-worker2", Host{24, 94}},
	{"k8s-worker3", Host{24, 94}},
	{"k8s-worker5", Host{24, 125}},
	{"k8s-worker4", Host{16, 188}},
	{"k8sworker1", Host{16, 62}},
}

// Layouts returns the two CPU clusters of Qore-DL's experiments. Of the larger one only the totals are published: 24 hosts, 488
// cores, 2 TB. It is the smaller one with 7 hosts of 24 and 10 of 16 cores.
func Layouts() []Layout {
	small := Layout{Name: "7 hosts", Jobs: 60}
	for _, m := range machines {
		small.Hosts = append(small.Hosts, m.host)
		small.Traced = append(small.Traced, m.name)
	}
	large := Layout{Name: "24 hosts", Jobs: 183}
	for i := range 24 {
		host := Host{16, 48}
		switch {
		case i < len(machines):
			host = machines[i].host
		case i < len(machines)+7:
			host = Host{24, 94}
		}
		large.Hosts = append(large.Hosts, host)
		large.Traced = append(large.Traced, machines[i%len(machines)].name)
	}
	return []Layout{small, large}
}
