// Package rest loads a REST service over MongoDB, to measure what users of an application notice when the database
// fails. The service is examples/failover/persons or another one with the same API.
//
// A service is not a database. It stores persons, so the only workload is person. The service decides the durability of
// a write. It cannot drop collections or update documents. [Check] refuses other workloads and concerns before anything
// is sent.
//
//	insert of one            POST /persons
//	insert of several        POST /persons/batch
//	find of a page           GET  /persons?page=N&size=M&total=false
//	find by _id              GET  /persons/ID
//	the count of a list      GET  /persons/count
//
// Paging repositories find and count in one request. Here they are two requests, so that both parts of a list are timed
// as with MongoDB. MongoDB gets the same commands.
//
// # Outcomes
//
// A write is ok with a status of 2xx. For other statuses, the field "outcome" of the reply counts if it does not
// contradict the status. Without it a status of 4xx is a refusal, and every other status, or a missing reply, is
// indeterminate. A write is proven not applied only if there was no connection to send it.
package rest
