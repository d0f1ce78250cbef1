package executions

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/execution/query"
	"github.com/flowforge/flowforge/engine/workflow"
	"github.com/flowforge/flowforge/handlers/label"
)

// TestTheHeadingOfAnApproval: it is the question, unless the question is long.
func TestTheHeadingOfAnApproval(t *testing.T) {
	t.Parallel()
	c := &nodeCommand{name: "answer", text: commandTexts()["answer"]}
	c.e = query.Execution{ID: uuid.New(), WorkflowName: "digits.train"}
	c.e.SubmittedBy.Name = "mia"
	c.node.Name = "ask"
	c.node.Operator = &workflow.Operator{Type: workflow.TypeApproval, Approval: &workflow.Approval{Message: "Publish {{model}}?"}}
	c.node.Reason = &query.Reason{Message: "Publish net?"}
	heading, lead := c.words("Answer ask")
	require.Equal(t, "Publish net?", heading)
	require.Equal(t, "ask of digits.train "+label.ShortID(c.e.ID)+", launched by mia", lead)
	c.node.Reason.Message = strings.Repeat("long ", headingShown)
	heading, lead = c.words("Answer ask")
	require.Equal(t, "Answer ask", heading)
	require.Equal(t, c.node.Reason.Message, lead)
}
