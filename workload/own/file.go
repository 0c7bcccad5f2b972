package own

import (
	"go.yaml.in/yaml/v4"

	"github.com/plimsoll-bench/plimsoll/spec"
)

// File is a workload that a person described, or that was recorded from a deployment.
type File struct {
	// Name is the name of the workload in results.
	Name string `json:"name" yaml:"name" jsonschema:"required"`
	// About says in a sentence or two what it is and what it stresses.
	About string `json:"about,omitempty" yaml:"about,omitempty"`
	// Collections are the data.
	Collections []Collection `json:"collections" yaml:"collections" jsonschema:"required"`
	// Operations are what is done with the data, each with a weight.
	Operations []Operation `json:"operations" yaml:"operations" jsonschema:"required"`
	// Recorded says where a recorded workload comes from. It does not change what the workload does.
	Recorded *Recorded `json:"recorded,omitempty" yaml:"recorded,omitempty"`
}

// Recorded says where a workload was recorded, and what the recording could not see.
type Recorded struct {
	// From is the address of the deployment or the name of the file, without credentials.
	From string `json:"from" yaml:"from"`
	// At is when the recording began, in UTC (RFC 3339).
	At string `json:"at,omitempty" yaml:"at,omitempty"`
	// Sources are what it was made of: "queryStats", "profiler", "slow-query log", "text log", "profile",
	// "captured commands", "indexStats", "sample".
	Sources []string `json:"sources,omitempty" yaml:"sources,omitempty"`
	// Period is the time that the operations cover.
	Period spec.Duration `json:"period,omitempty" yaml:"period,omitempty"`
	// Rate is the operations per second of the deployment in that time.
	Rate spec.Rate `json:"rate,omitempty" yaml:"rate,omitempty"`
	// Unseen says in sentences what the recording could not see.
	Unseen []string `json:"unseen,omitempty" yaml:"unseen,omitempty"`
}

// Collection is one collection and the documents in it.
type Collection struct {
	// Name of the collection.
	Name string `json:"name" yaml:"name" jsonschema:"required"`
	// Count is how many documents the load phase inserts, for example 100k. The records of a run scale the counts of all
	// collections.
	Count spec.Count `json:"count,omitempty" yaml:"count,omitempty"`
	// Document is the template of its documents: Extended JSON with generators. Without _id, documents get an ObjectId.
	Document Template `json:"document,omitempty" yaml:"document,omitempty"`
	// Indexes exist before the load.
	Indexes []Index `json:"indexes,omitempty" yaml:"indexes,omitempty"`
	// Shard distributes the collection if the deployment is sharded.
	Shard *Shard `json:"shard,omitempty" yaml:"shard,omitempty"`
}

// Index is a secondary index.
type Index struct {
	// Name of the index; absent, it is made of the keys as drivers do.
	Name string `json:"name,omitempty" yaml:"name,omitempty"`
	// Keys are the fields with 1, -1, text, hashed, 2dsphere or 2d.
	Keys Template `json:"keys" yaml:"keys" jsonschema:"required"`
	// Unique refuses a second document with the same keys.
	Unique bool `json:"unique,omitempty" yaml:"unique,omitempty"`
	// Sparse leaves out documents without the fields.
	Sparse bool `json:"sparse,omitempty" yaml:"sparse,omitempty"`
	// Partial is a filter: only documents that match are in the index.
	Partial Template `json:"partial,omitempty" yaml:"partial,omitempty"`
	// ExpireAfter removes documents when the date in the field is so old.
	ExpireAfter *spec.Duration `json:"expire_after,omitempty" yaml:"expire_after,omitempty"`
	// Collation is the order of texts.
	Collation Template `json:"collation,omitempty" yaml:"collation,omitempty"`
}

// Shard says how a collection is distributed over shards.
type Shard struct {
	// Key is the shard key: fields with 1 or hashed.
	Key Template `json:"key" yaml:"key" jsonschema:"required"`
	// Unique makes the shard key unique.
	Unique bool `json:"unique,omitempty" yaml:"unique,omitempty"`
	// Chunks is the number of chunks before the load phase. A ranged key is split where the documents of the load phase
	// are, into parts of the same size, which the balancer moves. Absent, there is one chunk for each shard.
	Chunks spec.Count `json:"chunks,omitempty" yaml:"chunks,omitempty"`
	// Zones keep ranges of the key on certain shards.
	Zones []Zone `json:"zones,omitempty" yaml:"zones,omitempty"`
}

// Zone keeps a range of the shard key on certain shards.
type Zone struct {
	// Name of the zone.
	Name string `json:"name" yaml:"name" jsonschema:"required"`
	// Shards are the names of the shards, or their numbers from 0 in the order of their names.
	Shards []string `json:"shards" yaml:"shards" jsonschema:"required"`
	// From is the lower bound of the shard key, included: values for all its fields. $minKey is the least.
	From Template `json:"from" yaml:"from" jsonschema:"required"`
	// To is the upper bound, excluded. $maxKey is the greatest.
	To Template `json:"to" yaml:"to" jsonschema:"required"`
}

// Operation is one kind of operation, one step of a transaction or sequence, or one write of a bulkWrite. Exactly one
// of its commands is set; the value of a command is the collection.
type Operation struct {
	// Name is the class under which results list it. Absent, it is the command and the collection, as in
	// find-products.
	Name string `json:"name,omitempty" yaml:"name,omitempty"`
	// Weight is its share among all operations. Steps and readers have none.
	Weight float64 `json:"weight,omitempty" yaml:"weight,omitempty"`

	// Find reads all documents that match.
	Find string `json:"find,omitempty" yaml:"find,omitempty"`
	// FindOne reads one document.
	FindOne string `json:"findOne,omitempty" yaml:"findOne,omitempty"`
	// Aggregate runs the pipeline.
	Aggregate string `json:"aggregate,omitempty" yaml:"aggregate,omitempty"`
	// Count counts the documents that match, as countDocuments of drivers does.
	Count string `json:"count,omitempty" yaml:"count,omitempty"`
	// Distinct reads the values of a key.
	Distinct string `json:"distinct,omitempty" yaml:"distinct,omitempty"`
	// Insert stores the next documents of the collection.
	Insert string `json:"insert,omitempty" yaml:"insert,omitempty"`
	// BulkWrite sends several writes, in as few commands as their order allows.
	BulkWrite string `json:"bulkWrite,omitempty" yaml:"bulkWrite,omitempty"`
	// Update changes one document, or with many all that match.
	Update string `json:"update,omitempty" yaml:"update,omitempty"`
	// Replace replaces one document.
	Replace string `json:"replace,omitempty" yaml:"replace,omitempty"`
	// Delete removes one document, or with many all that match.
	Delete string `json:"delete,omitempty" yaml:"delete,omitempty"`
	// FindAndModify changes, replaces or removes one document and returns it.
	FindAndModify string `json:"findAndModify,omitempty" yaml:"findAndModify,omitempty"`
	// Watch reads the change stream of a collection.
	Watch string `json:"watch,omitempty" yaml:"watch,omitempty"`
	// Transaction is a list of steps that are applied together or not at all. It is committed at its end, and repeated
	// as drivers do.
	Transaction []Operation `json:"transaction,omitempty" yaml:"transaction,omitempty"`
	// Sequence is a list of operations that one virtual user does one after the other. If one of them fails or finds
	// nothing, the rest is left out.
	Sequence []Operation `json:"sequence,omitempty" yaml:"sequence,omitempty"`

	// Filter selects the documents.
	Filter Template `json:"filter,omitempty" yaml:"filter,omitempty"`
	// Projection of the fields that are returned.
	Projection Template `json:"projection,omitempty" yaml:"projection,omitempty"`
	// Sort is the order of the documents.
	Sort Template `json:"sort,omitempty" yaml:"sort,omitempty"`
	// Skip leaves out the first documents: a number or a generator.
	Skip Template `json:"skip,omitempty" yaml:"skip,omitempty"`
	// Limit is the most documents that are returned.
	Limit spec.Count `json:"limit,omitempty" yaml:"limit,omitempty"`
	// Pipeline of an aggregate, or of a watch.
	Pipeline Template `json:"pipeline,omitempty" yaml:"pipeline,omitempty"`
	// Key of a distinct.
	Key string `json:"key,omitempty" yaml:"key,omitempty"`
	// Document is inserted in place of the collection's template. It can use variables.
	Document Template `json:"document,omitempty" yaml:"document,omitempty"`
	// Batch is how many documents one insert has. Absent, it is 1.
	Batch spec.Count `json:"batch,omitempty" yaml:"batch,omitempty"`
	// With is the change of an update or findAndModify: operators, a pipeline or, for a replace, the document.
	With Template `json:"with,omitempty" yaml:"with,omitempty"`
	// Writes of a bulkWrite: insert, update, replace and delete without collection names.
	Writes []Write `json:"writes,omitempty" yaml:"writes,omitempty"`
	// Many changes or removes all documents that match.
	Many bool `json:"many,omitempty" yaml:"many,omitempty"`
	// Upsert inserts a document if none matches.
	Upsert bool `json:"upsert,omitempty" yaml:"upsert,omitempty"`
	// Remove makes a findAndModify remove the document.
	Remove bool `json:"remove,omitempty" yaml:"remove,omitempty"`
	// New makes a findAndModify return the changed document.
	New bool `json:"new,omitempty" yaml:"new,omitempty"`
	// Unordered lets the server go on after a failed write of a batch.
	Unordered bool `json:"unordered,omitempty" yaml:"unordered,omitempty"`
	// ArrayFilters select elements of arrays for an update.
	ArrayFilters Template `json:"array_filters,omitempty" yaml:"array_filters,omitempty"`
	// Hint is the index to use: its keys or its name.
	Hint Template `json:"hint,omitempty" yaml:"hint,omitempty"`
	// Collation is the comparison of texts.
	Collation Template `json:"collation,omitempty" yaml:"collation,omitempty"`
	// Empty says that finding, changing or removing nothing is a proper answer. Otherwise it is counted as not-found.
	Empty bool `json:"empty,omitempty" yaml:"empty,omitempty"`

	// ReadConcern replaces that of the run.
	ReadConcern string `json:"read_concern,omitempty" yaml:"read_concern,omitempty" jsonschema:"enum=local,enum=available,enum=majority,enum=linearizable,enum=snapshot"`
	// ReadPreference replaces that of the run.
	ReadPreference string `json:"read_preference,omitempty" yaml:"read_preference,omitempty" jsonschema:"enum=primary,enum=primaryPreferred,enum=secondary,enum=secondaryPreferred,enum=nearest"`
	// WriteConcern replaces that of the run.
	WriteConcern *WriteConcern `json:"write_concern,omitempty" yaml:"write_concern,omitempty"`

	// Let computes variables before the operation, for {$var: NAME}.
	Let Template `json:"let,omitempty" yaml:"let,omitempty"`
	// As keeps the first document of the answer as a variable of the transaction or sequence.
	As string `json:"as,omitempty" yaml:"as,omitempty"`
	// Think is how long the user waits before the operation: 2s, or {min: 1s, max: 5s}.
	Think *Think `json:"think,omitempty" yaml:"think,omitempty"`
	// Readers is the number of workers that only read this change stream.
	Readers spec.Count `json:"readers,omitempty" yaml:"readers,omitempty"`

	line int // in the file, for errors
}

// WriteConcern says how safe a write must be.
type WriteConcern struct {
	// W is how many members acknowledge: a number, "majority" or a tag.
	W string `json:"w,omitempty" yaml:"w,omitempty"`
	// Journal waits for the journal. Absent leaves it to the server.
	Journal *bool `json:"journal,omitempty" yaml:"journal,omitempty"`
}

// Write is one write of a bulkWrite. Exactly one of insert, update, replace and delete is set.
type Write struct {
	// Insert is the document, or next for the next document of the collection.
	Insert Template `json:"insert,omitempty" yaml:"insert,omitempty"`
	// Update is the change: operators or a pipeline.
	Update Template `json:"update,omitempty" yaml:"update,omitempty"`
	// Replace is the new document.
	Replace Template `json:"replace,omitempty" yaml:"replace,omitempty"`
	// Delete removes the documents that match the filter.
	Delete bool `json:"delete,omitempty" yaml:"delete,omitempty"`
	// Filter selects the documents.
	Filter Template `json:"filter,omitempty" yaml:"filter,omitempty"`
	// Many changes or removes all documents that match.
	Many bool `json:"many,omitempty" yaml:"many,omitempty"`
	// Upsert inserts a document if none matches.
	Upsert bool `json:"upsert,omitempty" yaml:"upsert,omitempty"`
	// Times repeats the write with new values. Absent, it is 1.
	Times spec.Count `json:"times,omitempty" yaml:"times,omitempty"`

	line int
}

// Think is a pause of a virtual user, between Min and Max.
type Think struct {
	Min spec.Duration `json:"min" yaml:"min"`
	Max spec.Duration `json:"max" yaml:"max"`
}

// Template is a value in Extended JSON with generators, as it is written in the file.
type Template struct{ node *yaml.Node }

// IsZero reports whether there is no value.
func (t Template) IsZero() bool { return t.node == nil }
