package contract

import (
	"time"

	"github.com/google/uuid"

	"github.com/flowforge/flowforge/engine/execution/query"
)

// DeadLetterBody is a node that failed after its last retry.
type DeadLetterBody struct {
	ID           uuid.UUID     `json:"id"`
	ExecutionID  uuid.UUID     `json:"execution_id"`
	Status       string        `json:"execution_status,omitempty" doc:"Execution status; absent if the execution was deleted"`
	WorkflowName string        `json:"workflow_name"`
	Version      string        `json:"version"`
	Node         string        `json:"node"`
	NodeIndex    int           `json:"node_index"`
	Attempts     int           `json:"attempts"`
	Class        string        `json:"class" doc:"Failure class: user_error, out_of_memory, preempted, node_lost, image, start, timeout or network"`
	Error        query.Failure `json:"error"`
	At           time.Time     `json:"at"`
}

// DeadLetterList is a page of dead letters, newest first.
type DeadLetterList struct {
	DeadLetters []DeadLetterBody `json:"dead_letters"`
	Open        int              `json:"open" doc:"Number of dead letters of the project"`
	Matching    int              `json:"matching" doc:"Number of dead letters of the class, or of the project without class"`
	NextPage    string           `json:"next_page,omitempty"`
}

// RequeuedBody is where a node runs again.
type RequeuedBody struct {
	ExecutionID uuid.UUID `json:"execution_id" doc:"Execution in which the node runs again"`
}

// DismissLettersInput selects dead letters to dismiss.
type DismissLettersInput struct {
	Class  string     `json:"class,omitempty" doc:"Dismiss only failures of this class" enum:"user_error,out_of_memory,preempted,node_lost,image,start,timeout,network"`
	Newest *uuid.UUID `json:"newest,omitempty" doc:"ID of the newest dead letter that you have seen; newer ones are kept. If absent, all are dismissed"`
	Reason string     `json:"reason,omitempty" maxLength:"4000" doc:"Reason for the audit log"`
}

// DismissedBody is the result of dismissing dead letters.
type DismissedBody struct {
	Dismissed int `json:"dismissed" doc:"Number of dismissed dead letters"`
}

// DeadDeliveryBody is an event that could not be delivered.
type DeadDeliveryBody struct {
	ID           int64     `json:"id"`
	Kind         string    `json:"kind"`
	ExecutionID  uuid.UUID `json:"execution_id"`
	WorkflowName string    `json:"workflow_name"`
	Version      string    `json:"version"`
	Tries        int       `json:"tries"`
	Error        string    `json:"error"`
	At           time.Time `json:"at"`
}

// DeadDeliveryList are the events that could not be delivered, newest first.
type DeadDeliveryList struct {
	DeadDeliveries []DeadDeliveryBody `json:"dead_deliveries"`
}

// SettleReason is the reason for settling a failure.
type SettleReason struct {
	Reason string `json:"reason,omitempty" maxLength:"4000"`
}
