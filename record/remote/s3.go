package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// s3 is a bucket with a prefix.
type s3 struct {
	client         *minio.Client
	bucket, prefix string
}

// openS3 reads s3://BUCKET/PREFIX with the options endpoint (of S3-compatible storage; absent, Amazon's), region and
// insecure=true (HTTP). Credentials are those of AWS: environment, files, or the machine's role.
func openS3(u *url.URL) (Store, error) {
	q := u.Query()
	endpoint := q.Get("endpoint")
	if endpoint == "" {
		endpoint = "s3.amazonaws.com"
	}
	if u.Host == "" {
		return nil, errors.New("the address of the store names no bucket: write s3://BUCKET/PREFIX")
	}
	chain := credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.EnvMinio{},
		&credentials.FileAWSCredentials{}, &credentials.IAM{}})
	client, err := minio.New(endpoint, &minio.Options{Creds: chain, Secure: q.Get("insecure") != "true", Region: q.Get("region")})
	if err != nil {
		return nil, fmt.Errorf("the address of the store is wrong: %w", err)
	}
	return &s3{client, u.Host, strings.Trim(u.Path, "/")}, nil
}

func (s *s3) key(name string) string { return path.Join(s.prefix, name) }

func (s *s3) List(ctx context.Context) (names []string, err error) {
	prefix := s.prefix
	if prefix != "" {
		prefix += "/"
	}
	for o := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: prefix}) {
		if o.Err != nil {
			return nil, o.Err
		}
		names = append(names, strings.TrimPrefix(o.Key, prefix))
	}
	return names, nil
}

func (s *s3) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	return s.client.GetObject(ctx, s.bucket, s.key(name), minio.GetObjectOptions{})
}

func (s *s3) Put(ctx context.Context, name, file string) error {
	_, err := s.client.FPutObject(ctx, s.bucket, s.key(name), file, minio.PutObjectOptions{ContentType: "application/gzip"})
	return err
}
