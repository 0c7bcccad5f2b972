package ledger

import "context"

// How far a source is read ahead of what is taken in: chunks of so many bytes, and so many of them.
const (
	chunkBytes = 1 << 20
	chunks     = 4
)

// chunk is a number of documents in one piece.
type chunk struct {
	bytes []byte
	ends  []int
}

// ahead scans a collection and calls each for every document, while what comes next is being read already: taking
// documents in then takes no time of the scan's. Like a scan it stops with the first error.
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

// readChunks scans a collection into chunks. What was read before an error is handed over as well.
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
			full <- c // there is room for all that there are
			if c, err = next(); err != nil {
				c = new(chunk) // one more, which stays empty
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
