package ledger

import "context"

// The size of the read-ahead.
const (
	chunkBytes = 1 << 20
	chunks     = 4
)

// chunk is some documents in one buffer.
type chunk struct {
	bytes []byte
	ends  []int
}

// ahead scans a collection and calls each for every document, while it already reads the next ones, so that the scan
// does not wait for each. It stops with the first error.
func ahead(ctx context.Context, src Source, collection string, each func(doc []byte) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	full, used, scanned := make(chan *chunk, chunks+1), make(chan *chunk, chunks+1), make(chan error, 1)
	for range chunks {
		used <- new(chunk)
	}
	go func() {
		defer close(full)
		scanned <- readChunks(ctx, src, collection, full, used)
	}()
	for c := range full {
		from := 0
		for _, end := range c.ends {
			if err := each(c.bytes[from:end:end]); err != nil {
				stop()
				<-scanned
				return err
			}
			from = end
		}
		used <- c
	}
	return <-scanned
}

// readChunks scans a collection into chunks. What was read before an error is passed on, too.
func readChunks(ctx context.Context, src Source, collection string, full chan<- *chunk, used <-chan *chunk) error {
	next := func() (c *chunk, err error) {
		select {
		case c = <-used:
			c.bytes, c.ends = c.bytes[:0], c.ends[:0]
			return c, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	c, err := next()
	if err != nil {
		return err
	}
	err = src.Scan(ctx, collection, func(doc []byte) (err error) {
		if len(c.bytes) > 0 && len(c.bytes)+len(doc) > chunkBytes {
			full <- c // never blocks: there is room for all chunks
			if c, err = next(); err != nil {
				c = new(chunk) // an empty one, for the end
				return err
			}
		}
		c.bytes = append(c.bytes, doc...)
		c.ends = append(c.ends, len(c.bytes))
		return nil
	})
	full <- c
	return err
}
