package install

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// fieldManager owns the fields that an installation sets.
const fieldManager = "trellis-install"

// Kubectl is a kubectl program and the arguments that select a cluster.
type Kubectl struct {
	Program string
	Args    []string
}

func (k Kubectl) run(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, k.Program, append(append([]string{}, k.Args...), args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &stdout, &stderr
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("%w: install kubectl 1.36 or newer, or name the program with --kubectl", err)
	}
	if err != nil {
		return nil, fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

// show runs kubectl and copies its output, indented, to out.
func (k Kubectl) show(ctx context.Context, out io.Writer, args ...string) error {
	return k.showWithInput(ctx, out, nil, args...)
}

// showWithInput is show with an input.
func (k Kubectl) showWithInput(ctx context.Context, out io.Writer, input []byte, args ...string) error {
	text, err := k.run(ctx, input, args...)
	for line := range strings.Lines(string(text)) {
		fmt.Fprint(out, "  "+line)
	}
	return err
}

// apply creates or changes the objects of a manifest. Fields that the manifest does not set keep their values.
func (k Kubectl) apply(ctx context.Context, manifest []byte) error {
	_, err := k.run(ctx, manifest, "apply", "--server-side", "--force-conflicts", "--field-manager="+fieldManager, "-f", "-")
	return err
}

// get decodes the output of kubectl get into *to.
func (k Kubectl) get(ctx context.Context, to any, args ...string) error {
	out, err := k.run(ctx, nil, append([]string{"get", "-o", "json"}, args...)...)
	if err != nil || len(out) == 0 { // nothing is printed with --ignore-not-found
		return err
	}
	if err := json.Unmarshal(out, to); err != nil {
		return fmt.Errorf("decode kubectl get %s: %w", strings.Join(args, " "), err)
	}
	return nil
}
