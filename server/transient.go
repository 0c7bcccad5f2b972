package server

// Transient reports whether an error code means a transient state of a cluster: an election, the start or end of a
// server, another change of the same collection. A retry may succeed (MongoDB's error codes).
func Transient(code int32) bool {
	switch code {
	// HostUnreachable, HostNotFound, NetworkTimeout, NetworkInterfaceExceededTimeLimit, SocketException
	case 6, 7, 89, 202, 9001,
		24, 46, // LockTimeout, LockBusy
		50, 262, // MaxTimeMSExpired, ExceededTimeLimit
		63, 150, 249, 13388, // StaleShardVersion, StaleEpoch, StaleDbVersion, StaleConfig
		70, 133, // ShardNotFound, FailedToSatisfyReadPreference: routers and config servers learn of shards with a delay
		// ShutdownInProgress, PrimarySteppedDown, InterruptedAtShutdown, InterruptedDueToReplStateChange
		91, 189, 11600, 11602,
		94,            // NotYetInitialized
		112, 117, 314, // WriteConflict, ConflictingOperationInProgress, ObjectIsBusy
		10058, 10107, 13435, 13436: // LegacyNotPrimary, NotWritablePrimary, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary
		return true
	}
	return false
}
