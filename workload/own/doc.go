// Package own has workloads that people describe in a file, or that were recorded from a deployment: the types of the
// file, its strict reading, and the compiler to a [workload.Workload].
//
// Like package workload it does no I/O. It reads the clock only for $date: now.
//
// A complete file:
//
//	name: shop
//	about: A web shop. Most people look at products, some order.
//	collections:
//	  - name: products
//	    count: 100k                       # documents of the load phase
//	    document:
//	      _id: {$sequence: {prefix: product-, digits: 12}}
//	      name: {$words: {count: 2}}
//	      category: {$choose: [books, games, tea]}
//	      brand: {$choose: {of: {Acorn: 5, Birch: 1}}}   # weights
//	      price: {$decimal: {min: 1, max: 500, scale: 2}}
//	      rating: {$double: {min: 1, max: 5, round: 1}}
//	      stock: {$int: {min: 100, max: 10000}}
//	      tags: {$array: {of: {$choose: [new, sale, eco]}, count: {min: 1, max: 3}}}
//	      picture: {$binary: {size: 2KiB, compressible: 40%}}
//	      sku: {$string: {size: 8, from: ABCDEFGHJKLMNPQR23456789}}
//	      added: {$date: {min: 2024-01-01, max: 2025-12-31}}
//	      on: true                        # anything else is written as it is, in Extended JSON
//	    indexes:
//	      - keys: {category: 1, price: -1}
//	      - {keys: {sku: 1}, unique: true}
//	      - {keys: {name: text}}
//	      - {keys: {price: 1}, partial: {stock: {$gt: 0}}}
//	    shard:
//	      key: {_id: hashed}
//	      chunks: 8
//	  - name: orders
//	    document:
//	      _id: {$objectId: {}}
//	      product: {$zipf: products}      # the _id of a product
//	      customer: {$uuid: {}}
//	      quantity: {$int: {min: 1, max: 5}}
//	      price: {$double: {min: 1, max: 500, round: 2}}
//	      total: {$calc: "round(price * quantity, 2)"}
//	      text: {$format: "{quantity} of {product}"}
//	      at: {$date: now}
//	    indexes:
//	      - {keys: {at: 1}, expire_after: 30d}
//	operations:
//	  - name: browse
//	    weight: 60
//	    find: products
//	    filter: {category: {$choose: [books, games, tea]}, price: {$lt: {$int: {min: 10, max: 500}}}}
//	    sort: {price: 1}
//	    limit: 20
//	    empty: true                       # finding nothing is a proper answer
//	  - name: look
//	    weight: 30
//	    findOne: products
//	    filter: {_id: {$zipf: products}}
//	    read_concern: majority
//	    read_preference: secondaryPreferred
//	  - name: checkout
//	    weight: 5
//	    let: {product: {$zipf: products}, n: {$int: {min: 1, max: 5}}}
//	    transaction:
//	      - {findOne: products, filter: {_id: {$var: product}}, as: found}
//	      - {insert: orders, document: {product: {$var: product}, quantity: {$var: n}, price: {$var: found.price}}}
//	      - {update: products, filter: {_id: {$var: product}}, with: {$inc: {stock: -1}}}
//	    write_concern: {w: majority, journal: true}
//	  - name: visit
//	    weight: 5
//	    sequence:                         # one user, one step after the other
//	      - {name: landing, find: products, limit: 20, sort: {added: -1}, as: shown}
//	      - {name: open, think: {min: 1s, max: 5s}, findOne: products, filter: {_id: {$var: shown._id}}}
//	  - name: feed
//	    readers: 1                        # workers that only read this change stream
//	    watch: orders
package own
