// Package typeregistry defines the ML types of FlowForge: the values of each type, their
// form controls, validation and display, and which types are assignable to each other. It
// is pure: no clock, no database, no I/O.
//
// A type is written as an expression,
//
//	Integer(min=1, max=200)
//	List<String>(max_items=5)
//	Union<Adam: Struct{beta_1: Float = 0.9} | SGD: Struct{momentum: Float(min=0, max=1)}>
//	HyperparameterSet{learning_rate: Float(min=1e-5, max=1e-1, log=true) = 0.01, batch_size: Enum(64, 256) = 64}
//	Dataset(format="csv", columns=[image: Tensor[28, 28], label: Integer])
//
// by this grammar (EBNF; white space is free between tokens):
//
//	type      = name [ "<" typeargs ">" ] [ "(" args ")" ] [ "{" fields "}" ] { "?" } .
//	typeargs  = typearg { ( "," | "|" ) typearg } .        "|" in Union, "," elsewhere
//	typearg   = [ name ":" ] type .                        a tag, in Union only
//	args      = [ arg { "," arg } ] .
//	arg       = name "=" value | value [ ":" string ] .    the second form: an option of Enum and its label
//	fields    = [ field { "," field } [ "," ] ] .
//	field     = name [ "?" ] ":" type [ "=" value ] [ "@" object ] .
//	value     = string | number | "true" | "false" | "null" | name | list | object .
//	list      = "[" [ item { "," item } ] "]" .
//	item      = value | name ":" name [ "[" dims "]" ] [ "@" object ] .    the second form: a column, feature or tensor
//	dims      = [ dim { "," dim } ] .
//	dim       = integer | "?" .
//	object    = "{" [ key ":" value { "," key ":" value } ] "}" .
//	key       = name | string .
//	name      = letter_or_underscore { letter | digit | "_" | "-" } .
//
// Strings are JSON strings, in double or single quotes; numbers are JSON
// numbers; a bare name in the place of a value is a string. "T?" is short for
// Optional<T>, and "name?: T" marks an optional field. The object
// after "@" holds the description, hints and validators of a field.
//
// The object form, for YAML and JSON, is equivalent:
//
//	{type: List, of: {type: Integer, min: 1}, max_items: 5}
//
// Values are decoded JSON: nil, bool, json.Number, string, []any and
// map[string]any. Numbers keep every digit.
package typeregistry
