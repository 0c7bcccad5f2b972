package platform

import (
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/plimsoll-bench/plimsoll/record"
	"github.com/plimsoll-bench/plimsoll/server"
)

// The last writes of members say which of them lags. What a member is configured to be behind does not count, and
// neither does less than the clock of these writes shows.
func TestLagsOfMembers(t *testing.T) {
	d := &Deployment{}
	var list []record.LabMember
	add := func(role string, last uint32, more ...bson.E) {
		raw, err := bson.Marshal(append(bson.D{}, more...))
		if err != nil {
			t.Fatal(err)
		}
		h := server.Hello{Raw: raw}
		h.LastWrite.OpTime.TS.T = last
		d.members = append(d.members, &member{identity: server.Identity{Hello: h}})
		list = append(list, record.LabMember{Set: "rs0", Role: role})
	}
	add("primary", 1000)
	add("secondary", 999)
	add("secondary", 970)
	add("secondary", 400, bson.E{Key: "secondaryDelaySecs", Value: 600})
	add("secondary", 390, bson.E{Key: "slaveDelay", Value: 600})
	add("secondary", 0)
	add("unknown", 5)
	add("arbiter", 0)
	d.lags(list)
	var got []string
	for _, m := range list {
		if m.LagSeconds == nil {
			got = append(got, "-")
		} else {
			got = append(got, fmt.Sprint(*m.LagSeconds))
		}
	}
	if text := strings.Join(got, " "); text != "- 0 30 0 10 - - -" {
		t.Errorf("the lags are %s", text)
	}
}
