package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"strings"

	"github.com/plimsoll-bench/plimsoll/internal/permit"
	"github.com/plimsoll-bench/plimsoll/internal/safeopen"
	"github.com/plimsoll-bench/plimsoll/internal/wait"
)

// Limits of downloads in bytes. The archives of 2026 have about 100 MB, signatures and keys some KB.
const (
	maxArchive   = 2 << 30
	maxSignature = 64 << 10
	maxRedirects = 10
)

// fetcher downloads archives, signatures and keys. The zero value trusts the system's certificates and MongoDB's
// release keys.
type fetcher struct {
	client *http.Client // nil for the default client
	keys   []releaseKey // nil for MongoDB's
	site   string       // of the key files; "" for MongoDB's
	// plain allows http, because the user has given the checksum.
	plain bool
}

var errPlain = errors.New("http is not secure: use https, or give the archive's checksum with --sha256")

func isURL(s string) bool {
	return strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://")
}

// open opens a file or a URL, and returns its length in bytes, at most 0 if that is not known. A URL and its redirects
// must use https unless [fetcher.plain] is set. A redirect from https to http is never followed.
func (f fetcher) open(ctx context.Context, source string) (r io.ReadCloser, length int64, err error) {
	if !isURL(source) {
		file, err := safeopen.OpenFile(source)
		if err != nil {
			return nil, 0, err
		}
		if info, err := file.Stat(); err == nil {
			length = info.Size()
		}
		return file, length, nil
	}
	if err := permit.Check(ctx, permit.Dial, "the server of archives"); err != nil {
		return nil, 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return nil, 0, err
	}
	if req.URL.Scheme != "https" && !f.plain {
		return nil, 0, fmt.Errorf("%s: %w", req.URL.Redacted(), errPlain)
	}
	client := http.Client{}
	if f.client != nil {
		client = *f.client
	}
	client.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		switch last := via[len(via)-1]; {
		case len(via) > maxRedirects:
			return fmt.Errorf("more than %d redirects", maxRedirects)
		case next.URL.Scheme == "https":
			return nil
		case next.URL.Scheme == "http" && last.URL.Scheme == "http": // plain
			return nil
		}
		return fmt.Errorf("redirect to %s: %w", next.URL.Redacted(), errPlain)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, 0, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, 0, fmt.Errorf("%s: the server returned %s. Check that the server has %s", source, resp.Status, path.Base(source))
	}
	return resp.Body, resp.ContentLength, nil
}

// tellingReader tells the listener of a context how much was read.
type tellingReader struct {
	io.Reader
	ctx  context.Context
	part wait.Part
}

func (t *tellingReader) Read(b []byte) (int, error) {
	n, err := t.Reader.Read(b)
	t.part.Done += int64(n)
	wait.Advance(t.ctx, t.part)
	return n, err
}

// file copies a URL or file to a new file and returns its SHA-256 checksum.
func (f fetcher) file(ctx context.Context, source, to string) (string, error) {
	r, length, err := f.open(ctx, source)
	if err != nil {
		return "", err
	}
	defer r.Close()
	in := &tellingReader{r, ctx, wait.Part{Name: "download", Total: max(0, length), Bytes: true}}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, h), io.LimitReader(in, maxArchive+1))
	if err := errors.Join(err, out.Close()); err != nil {
		return "", fmt.Errorf("the download of %s failed after %d bytes: %w", source, n, err)
	}
	if n > maxArchive {
		return "", fmt.Errorf("%s has more than %d bytes, so it is not an archive of mongod", source, int64(maxArchive))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// small reads a URL or file of at most most bytes.
func (f fetcher) small(ctx context.Context, source string, most int64) ([]byte, error) {
	r, _, err := f.open(ctx, source)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%s has more than %d bytes", source, most)
	}
	return b, err
}
