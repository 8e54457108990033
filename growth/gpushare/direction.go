package gpushare

import (
	"slices"
	"strings"
	"unicode"

	"github.com/trellis-gpu/trellis/growth"
)

// DirectionSource is where the direction of a metric comes from.
type DirectionSource string

// All sources of a direction.
const (
	// DirectionGiven means that the annotation has it: "accuracy:max".
	DirectionGiven DirectionSource = "given"
	// DirectionKnown means that it follows from the name of the metric.
	DirectionKnown DirectionSource = "known"
	// DirectionAssumed means that the name is not known. Such a metric is minimised.
	DirectionAssumed DirectionSource = "assumed"
)

// defaultDirection returns the direction in which a metric of this name improves.
//
// Prefixes and suffixes of a name do not matter: "val_acc", "eval/accuracy" and "precision@5" are known. A word for an
// error wins over a word for a score, as in "dice_loss" and "brier_score". "neg" inverts both, as in
// "neg_mean_squared_error".
func defaultDirection(name string) (growth.Direction, DirectionSource) {
	known, inverted := growth.Direction(0), false
	for _, word := range words(name) {
		switch {
		case word == "neg" || word == "negative":
			inverted = !inverted
		case isError(word):
			known = growth.Minimize
		case isScore(word) && known == 0:
			known = growth.Maximize
		}
	}
	switch {
	case known == 0:
		return growth.Minimize, DirectionAssumed
	case inverted:
		return -known, DirectionKnown
	}
	return known, DirectionKnown
}

// words returns the words of a name in lower case, without trailing digits. It splits at punctuation, and once more
// where upper case follows lower case: "valAcc" has the words "valacc", "val" and "acc", and "top5" has "top".
func words(name string) []string {
	var split strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			split.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		split.WriteRune(r)
	}
	separator := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	var all []string
	for _, text := range []string{name, split.String()} {
		for _, word := range strings.FieldsFunc(strings.ToLower(text), separator) {
			if word = strings.TrimRight(word, "0123456789"); !slices.Contains(all, word) {
				all = append(all, word)
			}
		}
	}
	return all
}

// isError reports whether a word names something that training makes smaller.
func isError(word string) bool {
	switch word {
	case "bce", "bpb", "bpc", "brier", "cer", "cost", "costs", "deviance", "distance", "divergence", "eer", "err", "errors",
		"fid", "kid", "kl", "kld", "losses", "lpips", "mae", "mape", "mase", "mse", "msle", "nll", "perplexity", "ppl",
		"regret", "residual", "rmse", "rmsle", "smape", "ter", "wer", "xent":
		return true
	}
	return hasAnySuffix(word, "loss", "error", "entropy") // "logloss", "crossentropy"
}

// isScore reports whether a word names something that training makes larger. The digits of "f1", "r2" and "top5" are
// gone.
func isScore(word string) bool {
	switch word {
	case "accuracies", "ap", "ar", "auprc", "auroc", "bleu", "chrf", "cider", "concordance", "corr", "correlation", "dice",
		"em", "exact", "f", "fbeta", "gleu", "hit", "hits", "jaccard", "kappa", "map", "mar", "matthews", "mcc", "meteor",
		"mrr", "ndcg", "pearson", "pearsonr", "precision", "psnr", "r", "recall", "return", "returns", "rew", "reward",
		"rewards", "rouge", "rougel", "rougelsum", "sacrebleu", "scores", "sensitivity", "spearman", "spearmanr",
		"specificity", "spice", "ssim", "success", "top", "win", "winrate":
		return true
	}
	return hasAnySuffix(word, "acc", "accuracy", "auc", "iou", "likelihood", "score") // "prauc", "miou", "f1score"
}

func hasAnySuffix(word string, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(word, s) })
}
