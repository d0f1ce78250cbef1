package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"time"
)

// writeStep is the least time between two writes of a task with a rate.
const writeStep = 10 * time.Millisecond

// writeLines writes lines with the time of each, at most rate per second; 0 is as fast as possible.
func writeLines(w io.Writer, lines, rate int, now func() time.Time, sleep func(time.Duration)) error {
	out := bufio.NewWriterSize(w, 64<<10)
	begin := now()
	for i := range lines {
		for rate > 0 && float64(i) >= now().Sub(begin).Seconds()*float64(rate) {
			if err := out.Flush(); err != nil {
				return err
			}
			due := begin.Add(time.Duration(i) * time.Second / time.Duration(rate))
			sleep(max(writeStep, due.Sub(now())))
		}
		_, err := fmt.Fprintf(out, "t=%016d step=%d loss=%.5f lr=0.0003 throughput=1234.5 samples/s data_time=0.012s\n", now().UnixMicro(), i, 1/float64(i+1))
		if err != nil {
			return err
		}
	}
	return out.Flush()
}

var stamp = regexp.MustCompile(`t=(\d{16}) step=`)

// ages returns how old the lines in a text are.
func ages(text string, now time.Time) []time.Duration {
	var list []time.Duration
	for _, found := range stamp.FindAllStringSubmatch(text, -1) {
		at, err := strconv.ParseInt(found[1], 10, 64)
		if err == nil { // always: the pattern has digits only
			list = append(list, now.Sub(time.UnixMicro(at)))
		}
	}
	return list
}
