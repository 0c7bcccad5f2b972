package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
)

// mediaType is that of the one layer of an image that is a record.
const mediaType = types.MediaType("application/vnd.plimsoll.record.v1.tar+gzip")

// maxTag is the longest tag of a registry.
const maxTag = 128

// oci is a repository of a registry: each tag is an image with one layer, the archive.
type oci struct{ repository name.Repository }

// openOCI reads oci://REGISTRY/REPOSITORY, with insecure=true for HTTP. Credentials are those of docker login.
func openOCI(u *url.URL) (Store, error) {
	var options []name.Option
	if u.Query().Get("insecure") == "true" {
		options = append(options, name.Insecure)
	}
	r, err := name.NewRepository(u.Host+u.Path, options...)
	if err != nil {
		return nil, fmt.Errorf("the address of the store is wrong: %w", err)
	}
	return &oci{r}, nil
}

func (o *oci) options(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
}

func (o *oci) List(ctx context.Context) ([]string, error) {
	tags, err := remote.List(o.repository, o.options(ctx)...)
	var answer *transport.Error
	if errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound {
		return nil, nil // it is made by the first record
	}
	for i := range tags {
		tags[i] += suffix
	}
	return tags, err
}

func (o *oci) tag(file string) name.Tag { return o.repository.Tag(strings.TrimSuffix(file, suffix)) }

func (o *oci) Get(ctx context.Context, file string) (io.ReadCloser, error) {
	image, err := remote.Image(o.tag(file), o.options(ctx)...)
	if err != nil {
		return nil, err
	}
	layers, err := image.Layers()
	if err != nil {
		return nil, err
	}
	if len(layers) != 1 {
		return nil, fmt.Errorf("the image has %d layers, so it is not a record", len(layers))
	}
	return layers[0].Compressed()
}

func (o *oci) Put(ctx context.Context, file, path string) error {
	if len(strings.TrimSuffix(file, suffix)) > maxTag {
		return fmt.Errorf("the name %s is longer than a tag may be (%d). Use a shorter branch name", file, maxTag)
	}
	b, err := safeopen.ReadPath(path, maxPacked)
	if err != nil {
		return err
	}
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	image = mutate.ConfigMediaType(image, "application/vnd.plimsoll.record.config.v1+json")
	if image, err = mutate.AppendLayers(image, static.NewLayer(b, mediaType)); err != nil {
		return err
	}
	return remote.Write(o.tag(file), image, o.options(ctx)...)
}
