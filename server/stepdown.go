package server

import (
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// The times of a step-down are MongoDB's defaults (manual: "replSetStepDown").
const (
	stepDownFor = 60 * time.Second // the old primary is not elected again
	catchUpFor  = 10 * time.Second // for a secondary to catch up
)

// StepDown is the command that makes a primary hand over.
func StepDown() bson.D {
	return bson.D{{Key: "replSetStepDown", Value: int32(stepDownFor.Seconds())},
		{Key: "secondaryCatchUpPeriodSecs", Value: int32(catchUpFor.Seconds())}}
}

// StepDownRefused explains the error of a primary that did not hand over. A connection that the primary closed is no
// refusal: before 4.2 it closed all when it stepped down, and it may still close them for other reasons. Then it
// returns nil, as for no error.
func StepDownRefused(primary string, err error) error {
	var refused mongo.CommandError
	switch {
	case err == nil || mongo.IsNetworkError(err):
		return nil
	case errors.As(err, &refused) && refused.Code == 262: // ExceededTimeLimit
		return fmt.Errorf("%s did not step down: within %.0f s no secondary had caught up that may be elected. One that stepped "+
			"down less than %.0f s ago may not: wait a minute and try again (the server says: %w)",
			primary, catchUpFor.Seconds(), stepDownFor.Seconds(), err)
	}
	return fmt.Errorf("%s did not step down: %w", primary, err)
}
