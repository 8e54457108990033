package interference

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/interference"
)

// columns are those that speeds.py writes. Lines with one set number are one measurement.
var columns = []string{"set", "kind", "activity", "speed", "deviation", "seconds"}

// Recorded reads what speeds.py has written.
func Recorded(r io.Reader) ([]interference.Measurement, error) {
	lines, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 || !slices.Equal(lines[0], columns) {
		return nil, fmt.Errorf("the columns are not %q", columns)
	}
	var sets []interference.Measurement
	last := ""
	for i, line := range lines[1:] {
		member, seconds, err := parse(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		}
		if line[0] != last {
			sets = append(sets, interference.Measurement{Seconds: seconds})
			last = line[0]
		}
		set := &sets[len(sets)-1]
		set.Set = append(set.Set, member)
	}
	for _, set := range sets {
		if err := set.Validate(); err != nil {
			return nil, err
		}
	}
	return sets, nil
}

func parse(line []string) (interference.Member, growth.Seconds, error) {
	var numbers [4]float64
	var problems []error
	for i := range numbers {
		var err error
		numbers[i], err = strconv.ParseFloat(line[2+i], 64)
		problems = append(problems, err)
	}
	member := interference.Member{
		Kind:      interference.KindOf("recorded", line[1]),
		Activity:  growth.Share(numbers[0]),
		Speed:     min(numbers[1], interference.MaxSpeed),
		Deviation: numbers[2],
	}
	return member, growth.Seconds(numbers[3]), errors.Join(problems...)
}

// published are the pairs of jobs for which IADeep gives the sum of both jobs' relative increase of the step time. A
// corrupt row is left out. See growth/interference.
var published = []struct {
	a, b string
	sum  float64
}{
	{"resnet50", "neumf", 0.080}, {"vgg16", "neumf", 0.284}, {"squeezenet", "neumf", 0.296}, {"resnet50", "resnet50", 0.486},
	{"resnet50", "lstm", 0.656}, {"vgg16", "lstm", 0.718}, {"vgg16", "resnet50", 0.724}, {"vgg16", "vgg16", 0.732},
	{"squeezenet", "squeezenet", 0.905}, {"vgg16", "squeezenet", 0.932}, {"squeezenet", "lstm", 1.050},
}

// Published returns the pairs of IADeep as measurements. Half of each sum is attributed to each job.
func Published() []interference.Measurement {
	var sets []interference.Measurement
	for _, p := range published {
		speed := 1 / (1 + p.sum/2)
		sets = append(sets, interference.Measurement{Seconds: 60, Set: []interference.Member{
			{Kind: interference.KindOf("published", p.a), Speed: speed},
			{Kind: interference.KindOf("published", p.b), Speed: speed},
		}})
	}
	return sets
}
