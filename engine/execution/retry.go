package execution

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowforge/flowforge/engine/protect"
	"github.com/flowforge/flowforge/engine/workflow"
)

// classify says what kind of failure an attempt ended with.
func classify(e ending) protect.Class { return protect.Classify(protectEnd(e)) }

func protectEnd(e ending) protect.End {
	return protect.End{Outcome: string(e.Outcome), Class: e.Class, ExitCode: e.ExitCode, Message: e.Message}
}

// triesAgain decides by the retry policy of node i whether it is tried again after e.
// If not, why says what kept it from that although retries are left.
func (l *loop) triesAgain(i int, e ending, failure *Failure) (yes bool, why string) {
	r, n := l.operator(i).Retry, &l.nodes[i]
	switch {
	case n.retries >= r.Limit || l.progress.Halted(i):
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

// retryEnv is what the expression of a retry policy reads. What lastRetry has are texts,
// as in Argo.
func retryEnv(e ending, failure *Failure, retries, attempt int) map[string]any {
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
	maxEarlier     = 20  // different failures that a node remembers
	earlierMessage = 500 // letters of each
)

// afterEarlier adds to f what is known of the attempts before: those that said the same
// become one. Beyond maxEarlier different ones, those in the middle are counted alone.
func afterEarlier(f, before *Failure) *Failure {
	if before == nil {
		return f
	}
	list := slices.Clone(before.Earlier)
	message := clean(before.Message, earlierMessage)
	k := slices.IndexFunc(list, func(e EarlierFailure) bool { return e.Message == message && e.Class == before.Class })
	if k < 0 {
		list = append(list, EarlierFailure{Class: before.Class, Message: message})
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

// concluded makes f, the failure of the last attempt of a node, say how all attempts
// failed, and why it is not tried again.
func concluded(f *Failure, why string) *Failure {
	same := clean(f.Message, earlierMessage)
	var parts []string
	for _, e := range f.Earlier {
		if e.Message == same {
			parts = append(parts, attemptsText(e.Attempts)+" ended the same way.")
			continue
		}
		parts = append(parts, attemptsText(e.Attempts)+": "+ended(e.Message))
	}
	if f.Omitted > 0 {
		parts = append(parts, fmt.Sprintf("And %d more.", f.Omitted))
	}
	if len(parts) > 0 {
		f.Message = fmt.Sprintf("Attempt %d: %s Before it, %s", f.Attempt, ended(f.Message), lowerFirst(strings.Join(parts, " ")))
	}
	if why != "" {
		f.Message = ended(f.Message) + " " + why
	}
	return f
}

// ended makes sure that something can follow a message.
func ended(message string) string {
	if message == "" || strings.ContainsAny(message[len(message)-1:], ".!?") {
		return message
	}
	return message + "."
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// attemptsText writes "Attempt 2" or "Attempts 1 to 3 and 5".
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
