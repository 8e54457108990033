package chaos

import (
	"math/rand/v2"
	"time"
)

// Binaries are Trellis' own, by the names of their containers and, below /, of their programs.
func Binaries() []string { return []string{"coordinator", "deviceplugin", "extender", "tuner"} }

// Strike is one kill to come: of every process of a binary, so long after the run began.
type Strike struct {
	Binary string
	At     time.Duration
}

// Plan strikes each binary once between from and to. The seed decides the order, and for each the moment within an equal
// part of that time, so that what one kill brings about is mostly over when the next one comes.
func Plan(seed uint64, from, to time.Duration) []Strike {
	random := rand.New(rand.NewPCG(seed, 0))
	binaries := Binaries()
	part := (to - from) / time.Duration(len(binaries))
	var plan []Strike
	for i, k := range random.Perm(len(binaries)) {
		at := from + time.Duration(i)*part + time.Duration(random.Float64()*float64(part))
		plan = append(plan, Strike{Binary: binaries[k], At: at.Round(time.Second)})
	}
	return plan
}
