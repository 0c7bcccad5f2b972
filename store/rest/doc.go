// Package rest is a target that is a REST service over MongoDB instead of MongoDB: what users of an application feel
// when the database below it fails. It speaks what examples/failover/persons answers, and any service that answers the
// same can be loaded.
//
// A service is not a database. It keeps persons, so the workload person is all that can be sent; how safe a write is
// decides the service; collections cannot be dropped, and nothing can be changed once it is added. [Check] refuses what
// cannot be done before anything is sent.
//
//	insert of one            POST /persons
//	insert of several        POST /persons/batch
//	find of a page           GET  /persons?page=N&size=M&total=false
//	find by _id              GET  /persons/ID
//	the count of a list      GET  /persons/count
//
// Paging repositories find and count in one request; here they are two, so that both parts of a list are timed as they
// are when MongoDB is loaded directly. MongoDB gets the same commands.
//
// # Outcomes
//
// A write is ok with a status of 2xx. What a service says in the field "outcome" of an error is believed where it does
// not contradict the status; without it a status of 4xx is a refusal, and everything else is indeterminate, as is an
// answer that does not come. A write is proven not applied only where there was no connection to send it by.
package rest
