package reads

// ChunkSize and ServerIndex are for tests of the memory that a history takes, and of the servers of several.
const ChunkSize = chunkSize

func (h *History) ServerIndex(name string) int { return h.serverIndex(name) }
