package install_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

func TestSELinux_TypeOfTheDaemonSetsOnly(t *testing.T) {
	types := map[string]string{}
	for _, document := range strings.Split(string(rendered(t, "selinux")), "\n---\n") {
		var m struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct {
				Template struct {
					Spec struct {
						SecurityContext struct {
							SELinuxOptions struct{ Type string } `yaml:"seLinuxOptions"`
						} `yaml:"securityContext"`
					}
				}
			}
		}
		require.NoError(t, yaml.Unmarshal([]byte(document), &m))
		if label := m.Spec.Template.Spec.SecurityContext.SELinuxOptions.Type; label != "" {
			types[m.Metadata.Name] = label
		}
	}
	require.Equal(t, map[string]string{"deviceplugin": "spc_t", "coordinator": "spc_t"}, types)
}
