package search_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flowforge/flowforge/engine/search"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func names() *search.Names {
	number, text := []search.Type{search.Number}, []search.Type{search.String}
	return search.NewNames([]search.Field{
		{Part: search.Inputs, Name: "lr", Types: number},
		{Part: search.Inputs, Name: "optimizer.name", Types: text},
		{Part: search.Inputs, Name: "optimizer.decay", Types: number},
		{Part: search.Inputs, Name: "schedule.decay", Types: number},
		{Part: search.Inputs, Name: "dataset", Types: text},
		{Part: search.Inputs, Name: "depth", Types: []search.Type{search.Number, search.String}},
		{Part: search.Outputs, Name: "accuracy", Types: number},
		{Part: search.Metrics, Name: "accuracy", Types: number},
		{Part: search.Metrics, Name: "loss", Types: number},
		{Part: search.Metrics, Name: "val loss", Types: number},
		{Part: search.Metrics, Name: "acc(top5)", Types: number},
	})
}

func parse(t *testing.T, query string) search.Expr {
	t.Helper()
	e, err := search.Parse(query, search.Context{Names: names(), Now: now, Me: "Mei"})
	require.NoError(t, err, query)
	return e
}

// show writes a tree with full names.
func show(e search.Expr) string {
	join := func(list []search.Expr, by string) string {
		texts := make([]string, len(list))
		for i, e := range list {
			texts[i] = show(e)
		}
		return "(" + strings.Join(texts, by) + ")"
	}
	switch e := e.(type) {
	case search.And:
		return join(e, " and ")
	case search.Or:
		return join(e, " or ")
	case search.Not:
		return "not " + show(e.Of)
	case search.Text:
		return fmt.Sprintf("%q", string(e))
	case search.Compare:
		var values []string
		for _, v := range e.Values {
			switch v.Type {
			case search.Number, search.Span:
				values = append(values, fmt.Sprint(v.Number))
			case search.Time:
				values = append(values, v.Time.Format(time.RFC3339))
			case search.String:
				values = append(values, "'"+v.Text+"'")
			}
		}
		return strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Field.Path(), e.Op, strings.Join(values, "|")))
	}
	return "?"
}

func TestQueries(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":                               "()",
		"lr > 0.01":                      "inputs.lr > 0.01",
		"lr>1e-3":                        "inputs.lr > 0.001",
		"dataset = uci-digits@1":         "inputs.dataset = 'uci-digits@1'",
		"accuracy >= 0.9":                "metrics.accuracy >= 0.9",
		"outputs.accuracy >= 0.9":        "outputs.accuracy >= 0.9",
		"metrics.loss.min < 0.1":         "metrics.loss.min < 0.1",
		"loss.best < 0.1":                "metrics.loss.best < 0.1",
		"metrics.loss.last < 1":          "metrics.loss < 1",
		"inputs.optimizer.decay < 1":     "inputs.optimizer.decay < 1",
		"name ~ digits":                  "name ~ 'digits'",
		"optimizer.name = adam":          "inputs.optimizer.name = 'adam'",
		"tag:baseline":                   "tag = 'baseline'",
		"user:me":                        "user = 'Mei'",
		`error ~ "CUDA out"`:             "error ~ 'CUDA out'",
		"sha:ab12":                       "sha = 'ab12'",
		"state:FAILED":                   "state = 'failed'",
		"state in (failed, cancelled)":   "state = 'failed'|'cancelled'",
		"workflow:digits.train":          "workflow = 'digits.train'",
		"version:1.2.0":                  "version = '1.2.0'",
		"since:7d":                       "created >= 2026-11-16T12:00:00Z",
		"until:2026-11-08":               "created < 2026-11-08T00:00:00Z",
		"created > 2026-11-08T12:30":     "created > 2026-11-08T12:30:00Z",
		"duration > 1h30m":               "duration > 5400",
		"duration < 2d":                  "duration < 172800",
		"has:loss":                       "metrics.loss has",
		"lr > 0.01 user:me":              "(inputs.lr > 0.01 and user = 'Mei')",
		"lr>1 or lr<2 and tag:a":         "(inputs.lr > 1 or (inputs.lr < 2 and tag = 'a'))",
		"(lr>1 or lr<2) and not tag:a":   "((inputs.lr > 1 or inputs.lr < 2) and not tag = 'a')",
		"NOT (tag:a OR tag:b)":           "not (tag = 'a' or tag = 'b')",
		"digits":                         `"digits"`,
		`"two words" tag:a`:              `("two words" and tag = 'a')`,
		`dataset = "a \"b\" (c)"`:        `inputs.dataset = 'a "b" (c)'`,
		"depth = 3":                      "inputs.depth = 3",
		`depth = "3"`:                    "inputs.depth = '3'",
		"depth = deep":                   "inputs.depth = 'deep'",
		"dataset = s3://bucket/a:b":      "inputs.dataset = 's3://bucket/a:b'",
		"lr == 0.5 and accuracy != 0.25": "(inputs.lr = 0.5 and metrics.accuracy != 0.25)",
		"gpu_hours > 1_000":              "gpu_hours > 1000",
		`"val loss" < 1`:                 "metrics.val loss < 1",
		`"metrics.acc(top5).max">=0.9`:   "metrics.acc(top5).max >= 0.9",
		`has:"val loss"`:                 "metrics.val loss has",
		`"val loss" in (1, 2)`:           "metrics.val loss = 1|2",
	} {
		require.Equal(t, want, show(parse(t, query)), query)
	}
}

func TestErrorsNameThePlaceAndASuggestion(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]search.Error{
		"lr > 0.01 and acuracy >= 0.9": {Column: 15, Length: 7, Word: "acuracy", Message: `No execution of this project has "acuracy".`, Suggestion: "accuracy"},
		"ä:ö and metrics.los < 1":      {Column: 1, Length: 1, Word: "ä", Message: `No execution of this project has "ä".`},
		"decay > 1":                    {Column: 1, Length: 5, Word: "decay", Message: `"decay" can mean inputs.optimizer.decay or inputs.schedule.decay.`},
		"state:faild":                  {Column: 7, Length: 5, Word: "faild", Message: `"faild" is not a state. Enter one of pending, running, approval, paused, succeeded, failed, cancelled, live.`, Suggestion: "failed"},
		"lr > fast":                    {Column: 6, Length: 4, Word: "fast", Message: `inputs.lr is a number, and "fast" is not. Enter a number such as 0.01.`},
		"lr ~ 1":                       {Column: 4, Length: 1, Word: "~", Message: "inputs.lr is a number, and ~ searches text. Use another operator."},
		"lr >":                         {Column: 5, Message: "A value is expected after lr >."},
		"(lr > 1":                      {Column: 1, Length: 1, Word: "(", Message: "This ( has no matching )."},
		"lr > 1)":                      {Column: 7, Length: 1, Word: ")", Message: "This ) has no matching (."},
		"lr > 1 and":                   {Column: 11, Message: "The query ends where a condition is expected."},
		"or lr > 1":                    {Column: 1, Length: 2, Word: "or", Message: "A condition is expected here, such as lr > 0.01."},
		`name ~ "open`:                 {Column: 8, Length: 5, Word: `"open`, Message: `The quoted text is not closed. Add " at its end.`},
		"tag > a":                      {Column: 5, Length: 1, Word: ">", Message: "tag cannot be compared with >."},
		"id ~ ab":                      {Column: 4, Length: 1, Word: "~", Message: "id cannot be compared with ~."},
		"sha !~ ab":                    {Column: 5, Length: 2, Word: "!~", Message: "sha cannot be compared with !~."},
		"state ~ fail":                 {Column: 7, Length: 1, Word: "~", Message: "state cannot be compared with ~."},
		"since:soon":                   {Column: 7, Length: 4, Word: "soon", Message: `"soon" is not a time. Enter a date such as 2026-11-08, or a duration such as 7d.`},
		"duration > long":              {Column: 12, Length: 4, Word: "long", Message: `"long" is not a duration. Enter one such as 90s, 10m or 2h.`},
		"state in (failed":             {Column: 10, Length: 1, Word: "(", Message: "This ( has no matching )."},
		"created = 2026-11-08":         {Column: 9, Length: 1, Word: "=", Message: "created is a time: compare it with < or >."},
		"finished != today":            {Column: 10, Length: 2, Word: "!=", Message: "finished is a time: compare it with < or >."},
		"lr ! 1":                       {Column: 4, Length: 1, Word: "!", Message: "! is not an operator. Use != or !~."},
	} {
		_, err := search.Parse(query, search.Context{Names: names(), Now: now})
		var got *search.Error
		require.ErrorAs(t, err, &got, query)
		require.Equal(t, want, *got, query)
	}
	_, err := search.Parse("acuracy > 1", search.Context{Names: names(), Now: now})
	require.EqualError(t, err, `Column 1: No execution of this project has "acuracy". Did you mean accuracy?`)
	_, err = search.Parse(strings.Repeat("(", 2000), search.Context{Names: names(), Now: now})
	require.ErrorContains(t, err, "nested too deeply")
	_, err = search.Parse(strings.Repeat("a ", search.MaxConditions+1), search.Context{Names: names(), Now: now})
	require.ErrorContains(t, err, "too many conditions")
	_, err = search.Parse("lr in (1"+strings.Repeat(",1", search.MaxConditions)+")", search.Context{Names: names(), Now: now})
	require.ErrorContains(t, err, "too many conditions")
	_, err = search.Parse(strings.Repeat("ä", search.MaxLength), search.Context{Names: names(), Now: now})
	require.NoError(t, err, "it counts characters")
	_, err = search.Parse(strings.Repeat("x", search.MaxLength+1), search.Context{Names: names(), Now: now})
	require.ErrorContains(t, err, "too long")
	_, err = search.Parse(strings.Repeat("é", search.MaxLength), search.Context{Names: names(), Now: now})
	require.NotContains(t, fmt.Sprint(err), "too long", "a length is a number of characters")
}

// TestPeople: a person is named by name or e-mail address, or by a part of it that is unique.
func TestPeople(t *testing.T) {
	t.Parallel()
	known := []search.Person{
		{ID: "1", Name: "Ada", Email: "ada@maths.example"}, {ID: "2", Name: "Adam", Email: "adam@maths.example"},
		{ID: "3", Name: "Kim", Email: "kim@a.example"}, {ID: "4", Name: "Kim", Email: "kim@b.example"},
	}
	people := func(text string) ([]search.Person, error) {
		if text == "down" {
			return nil, errors.New("no connection")
		}
		var found []search.Person
		for _, one := range known {
			if strings.Contains(strings.ToLower(one.Name+" "+one.Email), strings.ToLower(text)) {
				found = append(found, one)
			}
		}
		return found, nil
	}
	c := search.Context{Names: names(), Now: now, Me: "Mei", MeID: "9", People: people}
	for query, id := range map[string]string{"user = ada": "1", "user:ADAM": "2", "user = adam@maths.example": "2", "user = kim@b": "4", "user:me": "9", "user = gone": ""} {
		e, err := search.Parse(query, c)
		require.NoError(t, err, query)
		require.Equal(t, id, e.(search.Compare).Values[0].ID, query)
	}
	for query, message := range map[string]string{
		"user = ad":             `"ad" can be Ada or Adam. Enter the full name or e-mail address.`,
		"user in (ada, kim)":    `"kim" can be Kim (kim@a.example) or Kim (kim@b.example). Enter the full name or e-mail address.`,
		"user != maths.example": `"maths.example" can be Ada or Adam. Enter the full name or e-mail address.`,
	} {
		_, err := search.Parse(query, c)
		var got *search.Error
		require.ErrorAs(t, err, &got, query)
		require.Equal(t, message, got.Message)
	}
	_, err := search.Parse("user = down", c)
	require.EqualError(t, err, "no connection")
	e, err := search.Parse("user ~ ad", c)
	require.NoError(t, err)
	require.Empty(t, e.(search.Compare).Values[0].ID)
}

func TestExpectedTokenAtTheCursor(t *testing.T) {
	t.Parallel()
	for before, want := range map[string]string{
		"":                      "name '' 0 ",
		"opt":                   "name 'opt' 0 ",
		"lr ":                   "operator '' 3 inputs.lr",
		"lr >":                  "value '' 4 inputs.lr",
		"lr > 0.0":              "value '0.0' 5 inputs.lr",
		"lr > 0.01 ":            "joiner '' 10 ",
		"lr > 0.01 and acc":     "name 'acc' 14 ",
		"dataset = \"uci di":    "value 'uci di' 10 inputs.dataset",
		"state in (failed, can": "value 'can' 18 state",
		"(tag:a or ":            "name '' 10 ",
		"has:lo":                "name 'lo' 4 ",
		"some wor":              "name 'wor' 5 ",
		`"val loss" `:           "operator '' 11 metrics.val loss",
		`"val lo`:               "name 'val lo' 0 ",
	} {
		c := search.At(before, names())
		field := ""
		if c.Field.Name != "" {
			field = c.Field.Path()
		}
		require.Equal(t, want, fmt.Sprintf("%s '%s' %d %s", c.Expected, c.Typed, c.From, field), before)
	}
	var found []string
	for _, f := range names().Matching("dec", 10) {
		found = append(found, f.Path())
	}
	require.Equal(t, []string{"inputs.optimizer.decay", "inputs.schedule.decay"}, found)
	require.Equal(t, `"metrics.val loss"`, names().Matching("val", 1)[0].Quoted())
	require.Equal(t, "inputs.optimizer.decay", names().Matching("dec", 1)[0].Quoted())
	require.Equal(t, "metrics.loss.min", names().Matching("loss.min", 1)[0].Path())
}

func TestQuotedValuesAreReadBack(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"adam", "uci-digits@1", "two words", `a "b" \ c`, "", "a,b", "s3://x/y", "and", "x=y", "it's"} {
		e := parse(t, "dataset = "+search.Quote(value))
		require.Equal(t, value, e.(search.Compare).Values[0].Text)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"lr > 0.01 and (tag:a or not user:me)", `error ~ "CUDA`, "state in (failed, live)", "ä ö:\xff", "since:7d -- !", "a=(", "has:loss.min"} {
		f.Add(seed)
	}
	n := names()
	f.Fuzz(func(t *testing.T, query string) {
		e, err := search.Parse(query, search.Context{Names: n, Now: now, Me: "Mei"})
		if err == nil {
			require.NotEqual(t, "?", show(e))
		} else {
			var got *search.Error
			require.ErrorAs(t, err, &got)
			require.True(t, got.Column >= 1 && got.Message != "", "%#v", err)
		}
		c := search.At(query, n)
		require.LessOrEqual(t, c.From, len(query))
	})
}

func TestLowerIsBetter(t *testing.T) {
	t.Parallel()
	for name, lower := range map[string]bool{"val_Loss": true, "rmse": true, "fit seconds": true, "accuracy": false, "f1": false, "": false} {
		require.Equal(t, lower, search.LowerIsBetter(name), name)
	}
}
