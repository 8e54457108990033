package install

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
)

// kubectl is the cluster's own kubectl, as its administrator.
type kubectl struct{ program, kubeconfig string }

func (k kubectl) run(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, k.program, append([]string{"--kubeconfig=" + k.kubeconfig}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

// apply creates or changes what input describes. Fields that somebody else set are left to him.
func (k kubectl) apply(ctx context.Context, input []byte) error {
	_, err := k.run(ctx, input, "apply", "--server-side", "--force-conflicts", "--field-manager=trellis-install", "-f", "-")
	return err
}

// get reads objects into the value that to points at.
func (k kubectl) get(ctx context.Context, to any, args ...string) error {
	out, err := k.run(ctx, nil, append([]string{"get", "-o", "json"}, args...)...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, to); err != nil {
		return fmt.Errorf("decode kubectl get %s: %w", strings.Join(args, " "), err)
	}
	return nil
}
