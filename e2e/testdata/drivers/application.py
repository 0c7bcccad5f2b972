"""Operations of applications with pymongo, for TestMongoRecordings: application.py ADDRESS DATABASE SCENARIO."""
import random
import re
import sys

from pymongo import DeleteOne, InsertOne, MongoClient, ReadPreference, UpdateOne

address, database, scenario = sys.argv[1:]
client = MongoClient(address)
db = client[database]
items = db["items"]
chance = random.Random(46)


def points():
    for _ in range(120):
        items.find_one({"_id": "item-%04d" % chance.randrange(500)})
        items.update_one({"_id": "item-%04d" % chance.randrange(500)}, {"$inc": {"seen": 1}})


def ranges():
    for _ in range(80):
        low = chance.randrange(480)
        assert len(list(items.find({"qty": {"$gte": low, "$lt": low + 10}}))) == 10
        items.count_documents({"qty": {"$gte": low, "$lt": low + 20}}, skip=2, limit=9)


def patterns():
    for _ in range(60):
        letter = chance.choice("abcdefghij")
        list(items.find({"name": re.compile("^" + letter + "0")}))


def bulk():
    for n in range(40):
        ids = ["item-%04d" % chance.randrange(500) for _ in range(3)]
        items.bulk_write([InsertOne({"_id": "py-%d" % n, "qty": 1000 + n}), UpdateOne({"_id": ids[0]}, {"$set": {"state": "new"}}),
                          UpdateOne({"_id": ids[1]}, {"$push": {"log": {"by": "py", "n": n}}}), DeleteOne({"_id": "py-%d" % n})])


def pages():
    second = items.with_options(read_preference=ReadPreference.SECONDARY_PREFERRED)
    for n in range(60):
        list(second.find({"state": "paid"}).sort("qty", 1).skip(n % 5).limit(10))


def stream():
    with items.watch([{"$match": {"operationType": "update"}}], full_document="updateLookup", max_await_time_ms=100) as events:
        for n in range(60):
            items.update_one({"_id": "item-%04d" % n}, {"$set": {"stamp": n}})
            while events.try_next() is None:
                pass


{f.__name__: f for f in (points, ranges, patterns, bulk, pages, stream)}[scenario]()
