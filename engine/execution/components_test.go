package execution

import (
	"fmt"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestComponentsForgetNoField fills each field of each component's part of a flush, one at a
// time: the component has to report it as pending, and reset has to empty it.
func TestComponentsForgetNoField(t *testing.T) {
	t.Parallel()
	c := newComponents(&loop{})
	fields := 0
	for _, one := range c.inOrder {
		part, name, ok := partOf(one)
		require.False(t, one.pending(), "%s is pending with an empty part", name)
		if !ok {
			continue
		}
		for k := range part.NumField() {
			fields++
			what := fmt.Sprintf("%s.%s", name, part.Type().Field(k).Name)
			fill(t, part.Field(k), what)
			require.True(t, one.pending(), "%s is not counted", what)
			require.True(t, c.unwritten(), "%s is not counted", what)
			one.reset()
			require.False(t, one.pending(), "%s is not reset", what)
		}
	}
	require.GreaterOrEqual(t, fields, 20, "the test does not find the parts")
}

// partOf returns the part of a component, and the component's name; false when it has none.
func partOf(one component) (part reflect.Value, name string, ok bool) {
	v := reflect.ValueOf(one).Elem()
	name = v.Type().Name()
	for _, field := range []string{"part", "batchPart"} {
		if part = v.FieldByName(field); part.IsValid() {
			return part, name, true
		}
	}
	return part, name, false
}

// fill puts one element into a field.
func fill(t *testing.T, field reflect.Value, what string) {
	t.Helper()
	v := reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
	switch v.Kind() {
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.Zero(v.Type().Key()), reflect.Zero(v.Type().Elem()))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(1)
	default:
		require.Fail(t, "a part contains slices, maps, flags and counts", "%s is a %s", what, v.Kind())
	}
}

// TestEveryComponentIsInTheFlush: a flush includes every named component.
func TestEveryComponentIsInTheFlush(t *testing.T) {
	t.Parallel()
	c := newComponents(&loop{})
	listed := map[any]bool{}
	for _, one := range c.inOrder {
		listed[one] = true
	}
	v := reflect.ValueOf(&c).Elem()
	for k := range v.NumField() {
		field := v.Type().Field(k)
		if field.Type.Kind() != reflect.Pointer {
			continue
		}
		value := reflect.NewAt(field.Type, unsafe.Pointer(v.Field(k).UnsafeAddr())).Elem().Interface()
		require.True(t, listed[value], "the flush does not include %s", field.Name)
	}
}
