package api

import (
	"reflect"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
	"github.com/stretchr/testify/assert"

	"github.com/flowforge/flowforge/apperr"
)

// TestMessagesSayWhatToEnter: no message about a value is huma's own.
func TestMessagesSayWhatToEnter(t *testing.T) {
	t.Parallel()
	humaErrors()
	type sweep struct {
		Name   string   `json:"name" pattern:"^[a-z]+$" patternDescription:"lower-case letters"`
		Runs   int      `json:"runs" minimum:"1"`
		Method string   `json:"method" enum:"grid,random"`
		Tags   []string `json:"tags" maxItems:"1"`
	}
	given := map[string]any{"name": "A B", "runs": 0, "method": "guess", "tags": []any{"a", 1}, "more": true}
	messages := map[string]string{}
	for _, f := range fieldsFromHuma(huma.NewModelValidator().Validate(reflect.TypeFor[sweep](), given)) {
		messages[f.Path] = strings.TrimSpace(messages[f.Path] + " " + f.Message)
	}
	assert.Equal(t, map[string]string{
		"name": "Use lower-case letters.", "runs": "The minimum is 1.", "method": "Enter one of: grid, random.",
		"tags": "The maximum number of items is 1.", "tags[1]": "Enter a string.", "more": "There is no field with this name.",
	}, messages)
}

func TestMessagesOfParameters(t *testing.T) {
	t.Parallel()
	for theirs, ours := range map[string]string{
		"invalid integer":                     "Enter a whole number.",
		"invalid floating value":              "Enter a number.",
		"invalid boolean":                     "Enter true or false.",
		"invalid date/time for format 2006":   "Enter a date and time such as 2026-01-31T12:00:00Z.",
		"required query parameter is missing": "Enter a value: it is required.",
		"another message":                     "another message",
	} {
		humaErrors()
		fields := fieldsFromHuma([]error{&huma.ErrorDetail{Location: "query.limit", Message: theirs}})
		assert.Equal(t, []apperr.Field{{Path: "limit", Message: ours}}, fields)
	}
	assert.Equal(t, requiredPrefix+"%s"+requiredSuffix, validation.MsgExpectedRequiredProperty, "named reads the name from this message")
}
