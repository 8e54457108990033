package chaos

import (
	"math/rand/v2"
	"time"
)

// Binaries lists the binaries of Trellis. Their containers and programs have the same names.
func Binaries() []string { return []string{"coordinator", "deviceplugin", "extender", "tuner"} }

// Strike is one planned kill of every process of a binary, After the start of the run.
type Strike struct {
	Binary string
	At     time.Duration
}

// Plan strikes each binary once between from and to. The seed decides the order, and the moment of each within an
// equal part of that time, so that the effects of one kill are mostly over before the next.
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
