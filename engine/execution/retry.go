package execution

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/protect"
	"github.com/flowforge/flowforge/engine/workflow"
)

// classify returns the class of an attempt's failure.
func classify(e ending) protect.Class { return protect.Classify(protectEnd(e)) }

func protectEnd(e ending) protect.End {
	return protect.End{Outcome: string(e.Outcome), Class: e.Class, ExitCode: e.ExitCode, Message: e.Message}
}

// shouldRetry decides by the retry policy of node i whether it is retried after e. If not,
// why explains it when retries are left.
func (es *attemptEnds) shouldRetry(i int, e ending, failure *query.Failure) (yes bool, why string) {
	r, n := es.loop.operator(i).Retry, &es.loop.nodes[i]
	switch {
	case n.retries >= r.Limit || es.loop.progress.Halted(i):
		return false, ""
	case !r.Policy.Allows(protectEnd(e)):
		return false, r.Policy.Declines(protectEnd(e))
	case r.Condition == nil:
		return true, ""
	}
	ok, err := r.Condition.Bool(retryEnv(e, failure, n.retries, n.attempt))
	switch {
	case err != nil:
		return false, "Its retry expression could not be evaluated: " + sentence(err)
	case !ok:
		return false, cmp.Or(r.Declines, "Its retry expression is false.")
	}
	return true, ""
}

// retryEnv is the environment of the expression of a retry policy. The values of lastRetry
// are strings, as in Argo.
func retryEnv(e ending, failure *query.Failure, retries, attempt int) map[string]any {
	code, number := "-1", any(nil)
	if e.ExitCode != nil {
		code, number = strconv.Itoa(*e.ExitCode), int64(*e.ExitCode)
	}
	status := "Failed"
	if failure.IsError() {
		status = "Error"
	}
	took := time.Duration(0)
	if e.StartedAt != nil {
		took = max(e.FinishedAt.Sub(*e.StartedAt), 0)
	}
	return map[string]any{
		workflow.RetryLast: map[string]any{
			"exitCode": code, "status": status, "message": failure.Message, "duration": strconv.Itoa(int(took.Round(time.Second) / time.Second)),
		},
		workflow.RetryCount: int64(retries), workflow.RetryAttempt: int64(attempt), workflow.RetryClass: string(classify(e)),
		workflow.RetryExitCode: number, workflow.RetryMessage: failure.Message,
	}
}

const (
	maxEarlier     = 20  // different failures that a node stores
	earlierMessage = 500 // characters of each
)

// afterEarlier adds the earlier failures to f and groups those with the same message. Beyond
// maxEarlier groups it only counts those in the middle.
func afterEarlier(f, before *query.Failure) *query.Failure {
	if before == nil {
		return f
	}
	list := slices.Clone(before.Earlier)
	message := clean(before.Message, earlierMessage)
	k := slices.IndexFunc(list, func(e query.EarlierFailure) bool { return e.Message == message && e.Class == before.Class })
	if k < 0 {
		list = append(list, query.EarlierFailure{Class: before.Class, Message: message})
		k = len(list) - 1
	}
	list[k].Attempts = append(slices.Clone(list[k].Attempts), before.Attempt)
	f.Omitted = before.Omitted
	if len(list) > maxEarlier {
		half := maxEarlier / 2
		f.Omitted += len(list[half].Attempts)
		list = slices.Delete(list, half, half+1)
	}
	f.Earlier = list
	return f
}

// concluded adds the earlier failures of a node to f, its last one, and the reason why it is
// not retried.
func concluded(f *query.Failure, why string) *query.Failure {
	same, last := clean(f.Message, earlierMessage), []int{f.Attempt}
	var others []string
	for _, e := range f.Earlier {
		if e.Message == same {
			last = append(slices.Clone(e.Attempts), f.Attempt)
			continue
		}
		others = append(others, attemptsText(e.Attempts)+": "+ended(e.Message))
	}
	if f.Omitted > 0 {
		others = append(others, fmt.Sprintf("Other failed attempts: %d.", f.Omitted))
	}
	switch {
	case len(others) > 0:
		f.Message = attemptsText(last) + ": " + ended(f.Message) + " " + strings.Join(others, " ")
	case len(last) > 1:
		f.Message = ended(f.Message) + " " + attemptsText(last) + " failed with this error."
	}
	if why != "" {
		f.Message = ended(f.Message) + " " + why
	}
	return f
}

// retryText introduces the failure of an attempt that is retried. Argo's policies without a
// limit allow math.MaxInt32 retries.
func retryText(attempt, retries, limit int, growth string) string {
	if limit == math.MaxInt32 {
		return fmt.Sprintf("Retrying (attempt %d%s): ", attempt+1, growth)
	}
	return fmt.Sprintf("Retrying (attempt %d of %d%s): ", attempt+1, attempt+1+limit-retries, growth)
}

// ended ensures that a message ends with punctuation, so that text can follow.
func ended(message string) string {
	if message == "" || strings.ContainsAny(message[len(message)-1:], ".!?") {
		return message
	}
	return message + "."
}

// attemptsText formats numbers as "Attempt 2" or "Attempts 1 to 3 and 5".
func attemptsText(numbers []int) string {
	if len(numbers) == 1 {
		return fmt.Sprintf("Attempt %d", numbers[0])
	}
	var spans []string
	for k := 0; k < len(numbers); {
		last := k
		for last+1 < len(numbers) && numbers[last+1] == numbers[last]+1 {
			last++
		}
		switch last - k {
		case 0:
			spans = append(spans, strconv.Itoa(numbers[k]))
		case 1:
			spans = append(spans, strconv.Itoa(numbers[k]), strconv.Itoa(numbers[last]))
		default:
			spans = append(spans, fmt.Sprintf("%d to %d", numbers[k], numbers[last]))
		}
		k = last + 1
	}
	if len(spans) == 1 {
		return "Attempts " + spans[0]
	}
	return "Attempts " + strings.Join(spans[:len(spans)-1], ", ") + " and " + spans[len(spans)-1]
}
