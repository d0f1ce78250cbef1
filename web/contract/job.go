package contract

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// JobInput is a job of the scheduler's design: a schedule with the defaults of its fields.
type JobInput struct {
	Name     string          `json:"name" minLength:"1" maxLength:"100" doc:"Name, unique in the project"`
	Workflow string          `json:"workflow" minLength:"1" maxLength:"200" doc:"Name or ID of the workflow that the job launches"`
	Schedule string          `json:"schedule" minLength:"1" maxLength:"200" doc:"Cron expression, a macro such as @daily, or @every 90m"`
	Timezone string          `json:"timezone,omitempty" maxLength:"100" doc:"Time zone, such as Europe/Berlin; defaults to UTC"`
	Inputs   json.RawMessage `json:"inputs,omitempty" doc:"Input values by name"`
	Priority *int            `json:"priority,omitempty" minimum:"0" maximum:"100" doc:"Priority; defaults to the workflow's priority"`
}

// JobBody is a job. Its ID is that of the schedule.
type JobBody struct {
	ID          uuid.UUID  `json:"job_id"`
	Name        string     `json:"name"`
	Workflow    string     `json:"workflow"`
	Schedule    []string   `json:"schedule" doc:"Cron expressions and intervals; empty for a job that runs once"`
	Timezone    string     `json:"timezone"`
	Status      string     `json:"status" enum:"SCHEDULED,PAUSED,COMPLETED" doc:"State; COMPLETED means that the job will not run again"`
	NextRunTime *time.Time `json:"next_run_time,omitempty"`
	LastRunTime *time.Time `json:"last_run_time,omitempty"`
	CreatedAt   time.Time  `json:"created_at"`
}

// JobList is a page of jobs by name.
type JobList struct {
	Jobs []JobBody `json:"jobs"`
	Next string    `json:"next,omitempty" doc:"Cursor for the next page; pass it as after"`
}
