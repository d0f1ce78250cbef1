package expression

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/Masterminds/sprig/v3"
)

// removed lists the functions of sprig that are excluded, and why.
func removed() map[string]string {
	const (
		reads   = "it reads the environment of the server"
		network = "it accesses the network"
		keys    = "it creates or uses keys, which is slow"
		raw     = "it returns bytes that are not text"
	)
	return map[string]string{
		"sprig.env": reads, "sprig.expandenv": reads, "sprig.getHostByName": network,
		"sprig.genPrivateKey": keys, "sprig.genCA": keys, "sprig.genCAWithKey": keys,
		"sprig.genSelfSignedCert": keys, "sprig.genSelfSignedCertWithKey": keys,
		"sprig.genSignedCert": keys, "sprig.genSignedCertWithKey": keys, "sprig.buildCustomCert": keys,
		"sprig.derivePassword": keys, "sprig.htpasswd": keys, "sprig.bcrypt": keys,
		"sprig.encryptAES": keys, "sprig.decryptAES": keys, "sprig.randBytes": raw,
	}
}

// withSprig is common and every other function of sprig as sprig.name.
//
//nolint:gochecknoglobals // the same table for every expression, never written again
var withSprig = sync.OnceValue(func() map[string]function {
	all := maps.Clone(common())
	no, guards := removed(), guards()
	for name, f := range sprig.GenericFuncMap() {
		full := "sprig." + name
		if _, out := no[full]; !out {
			all[full] = ofSprig(reflect.ValueOf(f), guards[name])
		}
	}
	return all
})

// ofSprig wraps a function of sprig that charges for its result before it creates it.
func ofSprig(f reflect.Value, guard func(*meter, []any) error) function {
	return func(m *meter, args []any) (any, error) {
		if guard != nil {
			if err := guard(m, args); err != nil {
				return nil, err
			}
		}
		v, err := callGo(f, args)
		if err != nil {
			return nil, err
		}
		switch v.(type) {
		case time.Time, time.Duration, *semver.Version:
			return v, nil
		}
		m.weigh(v)
		return m.normal(v, 0), nil
	}
}

// callGo calls f with args converted to the types of its parameters.
func callGo(f reflect.Value, args []any) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = nil, asError(p)
		}
	}()
	t := f.Type()
	least := t.NumIn()
	if t.IsVariadic() {
		least--
	}
	if len(args) < least || len(args) > least && !t.IsVariadic() {
		return nil, fmt.Errorf("expected %d arguments, got %d", least, len(args))
	}
	in := make([]reflect.Value, len(args))
	for i, a := range args {
		want := t.In(min(i, t.NumIn()-1))
		if t.IsVariadic() && i >= least {
			want = want.Elem()
		}
		if in[i], err = argument(a, want); err != nil {
			return nil, fmt.Errorf("argument %d %w", i+1, err)
		}
	}
	out := f.Call(in)
	if n := len(out); n > 1 {
		if err, ok := reflect.TypeAssert[error](out[n-1]); ok {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out[0].Interface(), nil
}

// argument converts a to the parameter type want.
func argument(a any, want reflect.Type) (reflect.Value, error) {
	if a == nil {
		return reflect.Zero(want), nil
	}
	v := reflect.ValueOf(a)
	switch {
	case v.Type().AssignableTo(want):
		return v, nil
	case v.CanInt() && want.Kind() >= reflect.Int && want.Kind() <= reflect.Float64:
		return v.Convert(want), nil
	case v.CanFloat() && v.Float() == math.Trunc(v.Float()) && math.Abs(v.Float()) < 1<<53 && want.Kind() >= reflect.Int && want.Kind() <= reflect.Float64:
		return v.Convert(want), nil
	case v.Kind() == want.Kind() && v.CanConvert(want):
		return v.Convert(want), nil
	}
	return v, fmt.Errorf("must be %s, but is %s", kindOfType(want.String()), kindOf(a))
}

// guards charge for results of sprig's functions that exceed the size of their
// arguments.
func guards() map[string]func(*meter, []any) error {
	pattern := func(m *meter, args []any) error { return guardPattern(m, args, "") }
	replace := func(m *meter, args []any) error {
		with, err := textAt(args, 2)
		if err != nil {
			return err
		}
		return guardPattern(m, args, with)
	}
	quadratic := func(m *meter, args []any) error {
		for _, a := range args {
			if r := reflect.ValueOf(a); r.Kind() == reflect.Slice {
				for range r.Len() {
					m.weigh(a)
				}
			}
		}
		return nil
	}
	return map[string]func(*meter, []any) error{
		"repeat": guardRepeat, "indent": guardIndent, "nindent": guardIndent,
		"wrap": guardWrap, "wrapWith": guardWrap, "replace": guardReplace, "join": guardJoin,
		"split": guardSplit, "splitList": guardSplit, "splitn": guardSplitn,
		"until": guardRange, "untilStep": guardRange, "seq": guardRange,
		"randAlphaNum": guardRandom, "randAlpha": guardRandom, "randAscii": guardRandom, "randNumeric": guardRandom,
		"regexMatch": pattern, "mustRegexMatch": pattern, "regexFind": pattern, "mustRegexFind": pattern,
		"regexFindAll": pattern, "mustRegexFindAll": pattern, "regexSplit": pattern, "mustRegexSplit": pattern,
		"regexReplaceAll": replace, "mustRegexReplaceAll": replace,
		"regexReplaceAllLiteral": replace, "mustRegexReplaceAllLiteral": replace,
		"uniq": quadratic, "mustUniq": quadratic, "without": guardWithout, "mustWithout": guardWithout,
		"set": ownAll, "unset": ownAll, "merge": ownAll, "mustMerge": ownAll, "mergeOverwrite": ownAll, "mustMergeOverwrite": ownAll,
		"trimAll": guardTrim, "trimall": guardTrim, "semver": guardVersion, "semverCompare": guardVersion,
		"dateInZone": guardZone, "date_in_zone": guardZone, "htmlDateInZone": guardZone,
		"add1f": guardDecimals, "addf": guardDecimals, "subf": guardDecimals, "mulf": guardDecimals, "divf": guardDecimals,
		"fromJson": guardJSON, "mustFromJson": guardJSON,
		"toPrettyJson": guardPretty, "mustToPrettyJson": guardPretty,
	}
}

func guardRepeat(m *meter, args []any) error {
	n, err := intAt(args, 0)
	if err != nil {
		return err
	}
	s, err := textAt(args, 1)
	if err != nil {
		return err
	}
	if n < 0 {
		return fmt.Errorf("a string cannot be repeated %d times", n)
	}
	m.product(n, len(s))
	return nil
}

func guardIndent(m *meter, args []any) error {
	n, err := intAt(args, 0)
	if err != nil {
		return err
	}
	s, err := textAt(args, 1)
	if err != nil {
		return err
	}
	if n < 0 {
		return fmt.Errorf("a string cannot be indented by %d spaces", n)
	}
	m.product(n, strings.Count(s, "\n")+1)
	return nil
}

// guardWrap applies to wrap(width, text) and wrapWith(width, between, text).
func guardWrap(m *meter, args []any) error {
	s, err := textAt(args, len(args)-1)
	if err != nil {
		return err
	}
	between := "\n"
	if len(args) == 3 {
		if between, err = textAt(args, 1); err != nil {
			return err
		}
	}
	m.product(len(s), len(between)+1)
	return nil
}

func guardReplace(m *meter, args []any) error {
	s, err := texts(args, 3)
	if err != nil {
		return err
	}
	m.product(strings.Count(s[2], s[0]), len(s[1]))
	return nil
}

func guardJoin(m *meter, args []any) error {
	sep, err := textAt(args, 0)
	if err != nil {
		return err
	}
	if len(args) > 1 {
		if r := reflect.ValueOf(args[1]); r.Kind() == reflect.Slice {
			m.product(r.Len(), len(sep))
		}
	}
	return nil
}

func guardSplit(m *meter, args []any) error {
	s, err := texts(args, 2)
	if err != nil {
		return err
	}
	m.pieces(s[1], s[0])
	return nil
}

func guardSplitn(m *meter, args []any) error {
	if len(args) != 3 {
		return nil
	}
	sep, err := textAt(args, 0)
	if err != nil {
		return err
	}
	s, err := textAt(args, 2)
	if err != nil {
		return err
	}
	m.pieces(s, sep)
	return nil
}

// guardRange applies to until, untilStep and seq: the numbers cannot be more than the
// widest distance between two of the arguments.
func guardRange(m *meter, args []any) error {
	least, most := 0, 0
	for i := range args {
		n, err := intAt(args, i)
		if err != nil {
			return err
		}
		least, most = min(least, n), max(most, n)
	}
	m.spend(count(least, most))
	return nil
}

func guardRandom(m *meter, args []any) error {
	n, err := intAt(args, 0)
	if err != nil {
		return err
	}
	if n < 0 || n > 1_000 {
		return fmt.Errorf("it returns between 0 and 1,000 characters")
	}
	m.spend(4 * n)
	return nil
}

// guardPattern applies to every function of a pattern and a text. with is the
// replacement of a match.
func guardPattern(m *meter, args []any, with string) error {
	s, err := texts(args, 2)
	if err != nil {
		return err
	}
	_, n, err := m.pattern(s[0])
	if err != nil {
		return err
	}
	m.scan(len(s[1]), n)
	m.spend(4 * len(s[1])) // a match may be one byte long
	m.product(len(s[1])+1, len(with)+1)
	return nil
}

// guardWithout: every element is compared with every other argument.
func guardWithout(m *meter, args []any) error {
	for range args {
		m.weigh(args)
	}
	return nil
}

// ownAll copies all arguments of a function that modifies one of them.
func ownAll(m *meter, args []any) error {
	for i := range args {
		args[i] = m.normal(args[i], 0)
	}
	return nil
}

// guardTrim applies to trimAll(characters, text).
func guardTrim(m *meter, args []any) error {
	s, err := texts(args, 2)
	if err != nil {
		return err
	}
	m.cutting(s[1], s[0])
	return nil
}

// guardVersion charges for the patterns that parse versions.
func guardVersion(m *meter, args []any) error {
	for i := range args {
		s, err := textAt(args, i)
		if err != nil {
			return err
		}
		m.spend(100 + 2*len(s))
	}
	return nil
}

// guardDecimals charges for digits: each operand may add hundreds of digits to the
// intermediate result.
func guardDecimals(m *meter, args []any) error {
	m.spend(100 * len(args))
	m.product(100*len(args), len(args))
	return nil
}

// guardZone: the zone is looked up in the list of zones each time.
func guardZone(m *meter, _ []any) error {
	m.spend(200)
	return nil
}

func guardJSON(m *meter, args []any) error {
	s, err := textAt(args, 0)
	if err != nil {
		return err
	}
	m.spend(1 + len(s)/4)
	return nil
}

func guardPretty(m *meter, args []any) error {
	if len(args) > 0 {
		m.indented(args[0], 0)
	}
	return nil
}
