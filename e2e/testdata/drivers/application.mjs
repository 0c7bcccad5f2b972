// Operations of applications with the driver for Node.js, for TestMongoRecordings: application.mjs ADDRESS DATABASE SCENARIO.
import { createRequire } from 'node:module';

const [address, database, scenario] = process.argv.slice(2);
const { MongoClient } = createRequire(process.env.NODE_DRIVER + '/')('mongodb');
const client = new MongoClient(address);
const items = client.db(database).collection('items');
let seed = 46;
const below = (n) => (seed = (seed * 48271) % 2147483647) % n;
const id = (n) => 'item-' + String(n).padStart(4, '0');

const scenarios = {
  async points() {
    for (let n = 0; n < 100; n++) {
      await items.findOne({ _id: id(below(500)) });
      await items.updateOne({ _id: id(below(500)) }, { $set: { state: 'paid' } });
    }
  },
  async bulk() {
    for (let n = 0; n < 40; n++) {
      await items.bulkWrite([
        { updateOne: { filter: { _id: id(below(500)) }, update: { $addToSet: { tags: 'new' } } } },
        { replaceOne: { filter: { _id: id(below(500)) }, replacement: { qty: below(500), state: 'sent' } } },
      ]);
    }
  },
  async groups() {
    for (let n = 0; n < 60; n++) {
      await items.aggregate([{ $match: { state: 'paid' } }, { $group: { _id: '$addr.city', n: { $sum: 1 } } }]).toArray();
    }
  },
  async sets() {
    for (let n = 0; n < 60; n++) {
      const ids = [0, 1, 2, 3, 4].map((k) => id((n * 7 + k * 31) % 500));
      await items.find({ _id: { $in: ids } }).toArray();
    }
  },
  async transactions() {
    for (let n = 0; n < 21; n++) {
      const session = client.startSession();
      await session.withTransaction(async () => {
        await items.findOne({ _id: id(n) }, { session });
        await items.updateOne({ _id: id(n) }, { $inc: { seen: 1 } }, { session });
      });
      await session.endSession();
    }
  },
};
await scenarios[scenario]();
await client.close();
