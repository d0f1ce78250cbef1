package settings

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

const podPrefix = "FLOWFORGE_KUBE_"

// Parse reads the settings of a server from variables as in os.Environ. The error contains
// all problems, one per line. Variables without a text have their default.
func Parse(environ []string) (Settings, error) {
	s, problems := parse[Settings](environ)
	if s.Tasks.Launcher == "kube" {
		problems = append(problems, s.podProblems(environ)...)
	}
	return s, Join(problems...)
}

// Part reads one part of the settings, such as Databases or Client.
func Part[T any](environ []string) (T, error) {
	t, problems := parse[T](environ)
	return t, Join(problems...)
}

// Join combines problems, and the problems in errors of Join, into an error with one line
// each; nil without problems.
func Join(problems ...error) error {
	var all several
	for _, p := range problems {
		if inner, ok := errors.AsType[several](p); ok {
			all = append(all, inner...)
		} else if p != nil {
			all = append(all, p)
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return all
}

// several are two or more problems, which Join can add to others.
type several []error

func (s several) Error() string {
	lines := make([]string, len(s))
	for i, p := range s {
		lines[i] = "\n  " + p.Error()
	}
	return fmt.Sprintf("%d settings are not valid:%s", len(s), strings.Join(lines, ""))
}

// Unwrap lets errors.Is and errors.As find each problem.
func (s several) Unwrap() []error { return s }

func parse[T any](environ []string) (t T, problems []error) {
	variables := env.ToMap(environ)
	err := env.ParseWithOptions(&t, env.Options{
		Environment: variables,
		FuncMap:     map[reflect.Type]env.ParserFunc{reflect.TypeFor[time.Duration](): parseDuration},
	})
	causes := map[string]error{}
	var all env.AggregateError
	if err != nil && !errors.As(err, &all) {
		return t, []error{err}
	}
	for _, e := range all.Errors {
		wrong, ok := errors.AsType[env.ParseError](e)
		if !ok {
			return t, []error{e}
		}
		causes[wrong.Name] = wrong.Err
	}
	for _, v := range variablesOf(reflect.ValueOf(t)) {
		text := variables[v.name]
		cause := causes[v.field.Name]
		if message := v.problem(text, cause); text != "" && message != "" {
			problems = append(problems, fmt.Errorf("%s %q: %s", v.name, text, message))
		}
	}
	return t, problems
}

// variable is a field that is read from the environment.
type variable struct {
	section string // title
	name    string // such as FLOWFORGE_ADDR
	field   reflect.StructField
	value   reflect.Value
}

// variablesOf returns the variables of a struct and of its sections, in their order. Names
// of fields are unique, because errors of the parser contain the name of the field.
func variablesOf(v reflect.Value) (all []variable) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if name, ok := field.Tag.Lookup("env"); ok {
			all = append(all, variable{name: name, field: field, value: v.Field(i)})
			continue
		}
		for _, inner := range variablesOf(v.Field(i)) {
			inner.section = cmp.Or(inner.section, field.Tag.Get("title"))
			all = append(all, inner)
		}
	}
	return all
}

// problem describes what is wrong with the text of the variable; cause is the error of the
// parser.
func (v variable) problem(text string, cause error) string {
	kind := v.field.Type
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	least, _ := strconv.Atoi(v.field.Tag.Get("min"))
	switch {
	case kind.Kind() == reflect.Int:
		if n, err := strconv.Atoi(text); err != nil || n < least || cause != nil {
			return fmt.Sprintf("write a whole number of %d or more", least)
		}
	case kind == reflect.TypeFor[bool]() && cause != nil:
		return "write true or false"
	case cause != nil:
		return cause.Error()
	}
	allowed := v.field.Tag.Get("oneof")
	if allowed == "" || slices.Contains(strings.Split(allowed, ","), text) {
		return ""
	}
	return "write " + alternatives(strings.Split(allowed, ","))
}

// alternatives formats "a, b or c".
func alternatives(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0] + ", or leave it unset"
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// podProblems checks the settings for pods: a name that does not exist is an error.
func (s Settings) podProblems(environ []string) (problems []error) {
	var known []string
	for _, v := range variablesOf(reflect.ValueOf(s.Pods)) {
		known = append(known, v.name)
	}
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, podPrefix) && !slices.Contains(known, name) {
			problems = append(problems, fmt.Errorf("%s is not a setting; the settings for pods are %s", name, strings.Join(known, ", ")))
		}
	}
	if s.Pods.Image == "" {
		problems = append(problems, fmt.Errorf("%sIMAGE is not set: FLOWFORGE_LAUNCHER=kube needs FlowForge's image, which copies the program into every pod", podPrefix))
	}
	return problems
}
