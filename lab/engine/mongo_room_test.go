package engine

import (
	"slices"
	"strings"
	"testing"
)

// A mongod by itself would take 990 MB for its oplog, 300 MB for its journal and 200 MB for its diagnostic data on a
// volume of any size.
func TestRoomOfMongo(t *testing.T) {
	for _, c := range []struct {
		volume     int64
		member     bool
		args       []string
		parameters map[string]string
		want       string // arguments
		own        int64  // MiB
	}{
		{0, true, nil, nil, "", 502},
		{512 << 20, true, nil, nil, "--oplogSize 51 --wiredTigerEngineConfigString log=(file_max=8MB) --setParameter diagnosticDataCollectionDirectorySizeMB=10 --setParameter syncdelay=5", 87},
		{512 << 20, false, nil, nil, "--wiredTigerEngineConfigString log=(file_max=8MB) --setParameter diagnosticDataCollectionDirectorySizeMB=10 --setParameter syncdelay=5", 36},
		{1 << 30, true, nil, nil, "--oplogSize 102 --wiredTigerEngineConfigString log=(file_max=16MB) --setParameter diagnosticDataCollectionDirectorySizeMB=20 --setParameter syncdelay=15", 172},
		{4 << 30, true, nil, nil, "--oplogSize 409 --wiredTigerEngineConfigString log=(file_max=64MB) --setParameter diagnosticDataCollectionDirectorySizeMB=81", 684},
		{32 << 30, true, nil, nil, "", 2140}, // 5 % are more than the least that it takes by itself
		{1 << 30, true, []string{"--oplogSize", "300", "--syncdelay=60", "--wiredTigerEngineConfigString=log=(file_max=5MB)"},
			map[string]string{"diagnosticDataCollectionDirectorySizeMB": "50"}, "", 652},
		{1 << 30, true, []string{"--oplogSize=300"}, map[string]string{"syncdelay": "7"},
			"--wiredTigerEngineConfigString log=(file_max=16MB) --setParameter diagnosticDataCollectionDirectorySizeMB=20", 370},
	} {
		r := RoomOfMongo(c.volume, c.member, c.args, c.parameters)
		if got := strings.Join(r.arguments(c.args, c.parameters), " "); got != c.want {
			t.Errorf("volume %d, member %v, args %v: arguments %s\nwant %s", c.volume, c.member, c.args, got, c.want)
		}
		if got := r.Own() >> 20; got != c.own {
			t.Errorf("volume %d, member %v, args %v: mongod itself takes %d MiB, want %d", c.volume, c.member, c.args, got, c.own)
		}
	}
}

// No volume gives more than a tenth of itself to the oplog, as far as that is decided here.
func TestOplogIsATenthAtMost(t *testing.T) {
	for volume := int64(64 << 20); volume < 1<<40; volume += volume / 7 {
		r := RoomOfMongo(volume, true, nil, nil)
		if r.Oplog > volume/10 || r.Oplog == 0 {
			t.Fatalf("of %d bytes the oplog gets %d", volume, r.Oplog)
		}
		if i := slices.Index(r.arguments(nil, nil), "--oplogSize"); (i >= 0) != (volume/10 < leastOwnOplog) {
			t.Fatalf("of %d bytes the oplog gets %d, and mongod hears %v", volume, r.Oplog, r.arguments(nil, nil))
		}
	}
}

func TestRoomIsRefused(t *testing.T) {
	small := RoomOfMongo(512<<20, true, nil, nil)
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"fits":            {small.Check(), ""},
		"no limit":        {RoomOfMongo(0, true, nil, nil).CheckData(1 << 50), ""},
		"tiny":            {RoomOfMongo(16<<20, true, nil, nil).Check(), "That is more than half. Use at least"},
		"said oplog":      {RoomOfMongo(1<<30, true, []string{"--oplogSize", "990"}, nil).Check(), "smaller --oplogSize"},
		"data fit":        {small.CheckData(110 << 20), ""},
		"data do not fit": {small.CheckData(200 << 20), "200 MiB of data do not fit on a volume of 512 MiB"},
		"large":           {RoomOfMongo(32<<30, true, nil, nil).CheckData(20 << 30), ""},
		"too large":       {RoomOfMongo(32<<30, true, nil, nil).CheckData(27 << 30), "fewer records"},
	} {
		if c.want == "" && c.err != nil || c.want != "" && (c.err == nil || !strings.Contains(c.err.Error(), c.want)) {
			t.Errorf("%s: error %v, want one with %q", name, c.err, c.want)
		}
	}
}
