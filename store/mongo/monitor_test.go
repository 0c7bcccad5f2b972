package mongo

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
)

// The times of the server come from the replies of the request, if anybody wants them.
func TestServerTimes(t *testing.T) {
	if commandMonitor(false).Succeeded != nil {
		t.Error("the driver copies each reply, and nobody wants the times")
	}
	var track tracker
	ctx := context.WithValue(t.Context(), trackerKey{}, &track)
	see := func(reply bson.D) {
		raw, err := bson.Marshal(reply)
		if err != nil {
			t.Fatal(err)
		}
		commandMonitor(true).Succeeded(ctx, &event.CommandSucceededEvent{Reply: raw})
	}
	at := func(i uint32) bson.E { return bson.E{Key: "operationTime", Value: bson.Timestamp{T: 9, I: i}} }
	see(bson.D{{Key: "cursor", Value: bson.D{{Key: "id", Value: int64(0)}, {Key: "atClusterTime", Value: bson.Timestamp{T: 8, I: 4}}}}, at(3)})
	if track.operation != 9<<32|3 || track.snapshot != 8<<32|4 {
		t.Errorf("%+v", track)
	}
	see(bson.D{{Key: "ok", Value: 1}, at(5)})
	if track.operation != 9<<32|5 || track.snapshot != 8<<32|4 {
		t.Errorf("after another reply: %+v", track)
	}
	see(bson.D{{Key: "ok", Value: 1}, {Key: "cursor", Value: 3}})
	if track.operation != 0 {
		t.Errorf("a reply without a time: %+v", track)
	}
}
