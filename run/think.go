package run

import (
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-bench/plimsoll/internal/figure"
	"github.com/plimsoll-bench/plimsoll/load"
	"github.com/plimsoll-bench/plimsoll/spec"
	"github.com/plimsoll-bench/plimsoll/workload"
)

// Notes are what people should know about a complete specification before it runs.
func Notes(asked spec.Run) []string {
	w, err := openWorkload(asked, Options{}, time.Now())
	if err != nil {
		return nil
	}
	c, err := loadConfig(asked, Options{}, w)
	if err != nil {
		return nil
	}
	if text := thinkIgnored(w, c); text != "" {
		return []string{text}
	}
	return nil
}

// thinkIgnored says which pauses of virtual users the load leaves out, because their operations have due times.
func thinkIgnored(w workload.Workload, c load.Config) string {
	t, ok := workload.As[workload.Thinker](w)
	if !ok || !c.Scheduled() && c.Times == nil {
		return ""
	}
	names := t.Thinks()
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%s of the workload %s with think time: %s. Operations are sent at the times of a schedule, so these pauses are left "+
		"out. Remove the rate to have virtual users that pause.", figure.Plural(len(names), "operation"), w.Name(), strings.Join(names, ", "))
}
