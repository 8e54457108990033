package admin

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/trellis-gpu/trellis/deploy/local/internal/install"
)

// CertsCommand prints certificates for those who apply the manifests by other means than `trellis install`.
func CertsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "certs",
		Short: "Print Secrets with new certificates for the state bus, for kubectl apply",
		Long: `certs creates a certificate authority, a server certificate for the bus and a client certificate for
each binary, and prints them as Kubernetes Secrets. The authority's key is discarded: to renew, apply
new ones and restart everything in the namespace trellis. They are valid for a year.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			secrets, err := install.NewSecrets(time.Now())
			if err != nil {
				return err
			}
			manifest, err := secrets.Manifest()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", manifest)
			return err
		},
	}
}
