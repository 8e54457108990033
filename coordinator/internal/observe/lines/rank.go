package lines

import (
	"regexp"
	"strconv"
)

// maxRanks bounds the ranks of a job.
const maxRanks = 4096

// maxRankBytes bounds the part of a record in which a rank is searched.
const maxRankBytes = 512

const rankNumber = `["']?\s*[-:=#\[_]?\s*["']?(\d{1,5})(?:[^\w.]|\.\D|\.?$)`

var (
	// rankForms are the forms in which a record names its rank: "rank=0" and similar; the prefixes of torchrun --tee,
	// "[default0]:"; and those of mpirun --tag-output, "[1,0]<stdout>:".
	rankForms = []*regexp.Regexp{
		regexp.MustCompile(`^\s*\[(?:[\w.-]+@)?\d{1,5},(\d{1,5})\]<std(?:out|err|diag)>`),
		regexp.MustCompile(`(?i)^\s*\[(?:default|trainer|worker|learner|ddp|fsdp|node|gpu|cuda:|proc(?:ess)?|replica|role)[ _:-]?(\d{1,5})\]`),
		regexp.MustCompile(`(?i)(?:^|[^\w.])(?:global[ _-]?)?rank` + rankNumber),
		regexp.MustCompile(`(?i)(?:^|[^\w.])local[ _-]?rank` + rankNumber),
	}
	// bareRank matches the prefixes "0: " of srun --label and "[0] " of mpiexec -l.
	bareRank = regexp.MustCompile(`^\s*(?:(\d{1,4}):|\[(\d{1,4})\]:?)\s`)
)

// ranks finds the rank of each record. The zero value has not seen a record.
type ranks struct {
	// A bare number may be a step or an epoch. It is a rank once it has become smaller several times.
	bare  int
	falls int
}

// minFalls is how often bare numbers must become smaller before they count as ranks.
const minFalls = 3

// find returns the rank that a record names, or −1.
func (r *ranks) find(text []byte) int {
	text = text[:min(len(text), maxRankBytes)]
	for _, form := range rankForms {
		if groups := form.FindSubmatch(text); groups != nil {
			return parseRank(groups[1])
		}
	}
	groups := bareRank.FindSubmatch(text)
	if groups == nil {
		return -1
	}
	bare := parseRank(append(groups[1], groups[2]...))
	if bare < r.bare {
		r.falls++
	}
	r.bare = bare
	if r.falls < minFalls {
		return -1
	}
	return bare
}

func parseRank(digits []byte) int {
	n, err := strconv.Atoi(string(digits))
	if err != nil || n >= maxRanks {
		return -1
	}
	return n
}
