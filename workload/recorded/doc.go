// Package recorded reads what a deployment shows of its operations, and makes of it a workload and a recording.
//
// Readers ([Read], [Profiles], [ReadQueryStats]) turn each source into the same [Operation].
// A [Model] counts their shapes and describes their values without keeping them. A [Recorder] writes when each
// operation began into a recording, so that [Replay] can send them again.
//
// It opens no connection and no file: documents and readers come from the caller. Package workload/capture queries
// deployments, package workload/own has the language of workload files.
package recorded
