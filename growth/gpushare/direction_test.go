package gpushare_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trellis-gpu/trellis/growth"
	"github.com/trellis-gpu/trellis/growth/gpushare"
)

func TestParse_TakesTheDirectionFromTheNameOfTheMetric(t *testing.T) {
	for _, tc := range []struct {
		names     string
		direction growth.Direction
		from      gpushare.DirectionSource
	}{
		{"accuracy acc f1 auc bleu rouge map recall precision reward return score r2 iou dice psnr ssim top1 top5",
			growth.Maximize, gpushare.DirectionKnown},
		{"val_accuracy eval/acc test-f1 valAcc mAP mIoU meanIoU F1Score f1_macro roc_auc ROUGE-L rouge2 recall@10 ndcg@k",
			growth.Maximize, gpushare.DirectionKnown},
		{"top-1 acc1 eval_return ep_rew_mean rollout/ep_rew_mean episode_reward.mean log_likelihood neg_mean_squared_error mAP@0.5",
			growth.Maximize, gpushare.DirectionKnown},
		{"loss val_loss trainLoss eval/loss logloss dice_loss reward_loss error_rate top5_error perplexity ppl wer mse rmse_val",
			growth.Minimize, gpushare.DirectionKnown},
		{"brier_score fid_score neg_log_likelihood nll cross_entropy crossentropy val.MAE kl_divergence",
			growth.Minimize, gpushare.DirectionKnown},
		{"foo quality elbo val_ gradient_norm accurately mapping scorecard _",
			growth.Minimize, gpushare.DirectionAssumed},
		{"accuracy:max loss:max foo:max", growth.Maximize, gpushare.DirectionGiven},
		{"accuracy:min loss:min foo:min", growth.Minimize, gpushare.DirectionGiven},
	} {
		for value := range strings.FieldsSeq(tc.names) {
			s, err := gpushare.Parse(map[string]string{gpushare.MemoryAnnotation: "1", gpushare.MetricAnnotation: value})
			require.NoError(t, err, value)
			require.Equal(t, tc.direction, s.Direction, value)
			require.Equal(t, tc.from, s.DirectionFrom, value)
		}
	}
}
