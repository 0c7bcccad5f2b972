package kubernetes

import (
	"context"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Check makes the API server check the manifest, unknown fields included. It creates nothing.
func (c *Cluster) Check(ctx context.Context, s Settings) error {
	objects, err := parse(s)
	if err != nil {
		return err
	}
	for _, o := range objects {
		_, err := c.In(resources[o.GetKind()]).Create(ctx, o, meta.CreateOptions{
			DryRun: []string{meta.DryRunAll}, FieldValidation: meta.FieldValidationStrict})
		if err != nil {
			return err
		}
	}
	return nil
}
