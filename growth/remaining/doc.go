// Package remaining predicts how much work a training job still needs, in core-seconds: to its end, and to the point
// where its metric is as good as it will almost be.
package remaining
