// Package prediction measures how well growth/predict predicts the time of iterations of jobs that it has not seen.
//
// All rows of a configuration are either learned or predicted: a split by rows would predict repetitions of what was
// learned. Each configuration is predicted once per seed, from the four fifths of the configurations outside its fold.
//
//	cold          before the first iteration
//	observed      after 1, 2 and 5 observations under the predicted allocation, drawn by the seed; the other rows of the
//	              configuration under this allocation are predicted
//	elsewhere     after two observations of the configuration under another allocation
//
// Ceilings show what is possible with this data: the median of the same configuration and allocation (its deviation is
// noise), the median of the configuration, and an oracle that chooses the best of the five nearest learned
// configurations. The nearest configuration alone shows what the features say without that hindsight.
//
// Models of scikit-learn, which learn the same folds, show what other models reach: the forest and the boosted trees that Qore-DL uses, and
// others. Each one learns the logarithms of the times, or the times.
//
// R² is one of seconds, so the slowest configurations decide it. The part of the variance that a single configuration has, and R² without
// it, show how much.
package prediction
