package gpushare

import (
	"fmt"
	"slices"
	"strings"
)

// prefix starts the name of each annotation of Trellis.
const prefix = "gpushare/"

// UserAnnotations returns the annotations that a user sets on a pod.
func UserAnnotations() []string {
	return []string{
		MemoryAnnotation,
		CountAnnotation,
		CoresAnnotation,
		MetricAnnotation,
		TargetAnnotation,
		PriorityAnnotation,
		DeadlineAnnotation,
		ElasticAnnotation,
		GangAnnotation,
		ProgressAnnotation,
		TuneAnnotation,
		CheckpointAnnotation,
		CheckpointPathAnnotation,
		CheckpointVolumeAnnotation,
		PausedAnnotation,
		SaveAnnotation,
		MoveAnnotation,
	}
}

// WrittenAnnotations returns the annotations that Trellis sets on a pod.
func WrittenAnnotations() []string {
	return []string{
		GPUAnnotation,
		CategoryAnnotation,
		GPUShareAnnotation,
		ETAAnnotation,
		SavedAnnotation,
		MovingAnnotation,
		MovesAnnotation,
		PlacedAnnotation,
		RequestAnnotation,
		MemoryRequestAnnotation,
		RefusalsAnnotation,
		AuthorityAnnotation,
	}
}

// Unknown returns the annotations that have the prefix of Trellis and no meaning, sorted.
func Unknown(annotations map[string]string) []string {
	var unknown []string
	for name := range annotations {
		if len(name) < len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) {
			continue
		}
		if !slices.Contains(UserAnnotations(), name) && !slices.Contains(WrittenAnnotations(), name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// UnknownMessage describes an unknown annotation to the user, and names the annotation that was probably meant.
func UnknownMessage(name string) string {
	hint := "."
	if nearest := Nearest(name); nearest != "" {
		hint = ": did you mean " + nearest + "?"
	}
	return fmt.Sprintf("annotation %s is not known%s Users set gpushare/gpu-mem, gpu-count, gpu-cores, metric, target, "+
		"priority, deadline, elastic, gang, progress, tune, checkpoint, checkpoint-path, checkpoint-volume, paused, save and move", name, hint)
}

// minSimilarity is the similarity in thousandths below which two names have nothing in common.
const minSimilarity = 400

// Nearest returns the user's annotation whose name is most similar to an unknown one, or "". The similarity is the part of
// their pairs of letters that two names have in common. The admission policies compute the same.
func Nearest(unknown string) string {
	word := normalize(unknown)
	nearest := ""
	best := minSimilarity - 1
	for _, s := range spellings() {
		if score := similarity(word, "^"+s.written+"$"); score > best {
			nearest, best = prefix+s.meant, score
		}
	}
	return nearest
}

// normalize returns the name without prefix, case and punctuation, between marks for its beginning and its end.
func normalize(annotation string) string {
	_, name, _ := strings.Cut(annotation, "/")
	return "^" + strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(name)) + "$"
}

// similarity returns the number of pairs of letters in common, in thousandths of those of both words.
func similarity(word, known string) int {
	common := 0
	for i := range len(word) - 1 {
		if strings.Contains(known, word[i:i+2]) {
			common++
		}
	}
	return 2000 * common / (len(word) + len(known) - 2)
}

// spelling is a name as users write it, and the annotation that they mean.
type spelling struct{ written, meant string }

func spellings() []spelling {
	return []spelling{
		{"gpumem", "gpu-mem"},
		{"gpumemory", "gpu-mem"},
		{"memory", "gpu-mem"},
		{"mem", "gpu-mem"},
		{"gpucount", "gpu-count"},
		{"count", "gpu-count"},
		{"gpus", "gpu-count"},
		{"gpucores", "gpu-cores"},
		{"cores", "gpu-cores"},
		{"metric", "metric"},
		{"target", "target"},
		{"priority", "priority"},
		{"weight", "priority"},
		{"deadline", "deadline"},
		{"elastic", "elastic"},
		{"workers", "elastic"},
		{"gang", "gang"},
		{"progress", "progress"},
		{"tune", "tune"},
		{"checkpoint", "checkpoint"},
		{"checkpointpath", "checkpoint-path"},
		{"checkpointvolume", "checkpoint-volume"},
		{"paused", "paused"},
		{"save", "save"},
		{"move", "move"},
	}
}
