package workflow

import (
	"regexp"
	"slices"
	"strings"
)

// OperatorType describes what kind of work an operator does.
type OperatorType string

// The operator types.
const (
	TypeCommand OperatorType = "command"
	TypePython  OperatorType = "python"
	TypeShell   OperatorType = "shell"
	TypeNoop    OperatorType = "noop"
	TypeHTTP    OperatorType = "http"
	TypeSQL     OperatorType = "sql"
	TypeSensor  OperatorType = "sensor"
	TypeGRPC    OperatorType = "grpc"

	TypeGraph    OperatorType = "graph"
	TypeWorkflow OperatorType = "workflow"
	TypeApproval OperatorType = "approval"
)

// Runs reports whether operators of type t can have attempts; Operator.Runs knows it of one operator.
func (t OperatorType) Runs() bool {
	return t != TypeNoop && t != TypeGraph && t != TypeWorkflow && t != TypeApproval
}

// ownOutputs reports whether the outputs of an operator of type t are declared by
// itself and not by the graph or form that it uses.
func (t OperatorType) ownOutputs() bool {
	return t != TypeGraph && t != TypeWorkflow && t != TypeApproval
}

// operatorType holds the differences between types: the check of its section of a
// definition, and the process that it runs.
type operatorType struct {
	name    OperatorType
	summary string
	check   func(c *sectionCheck)
	process func(Code) Process // nil: no process
}

// operatorTypes lists all types; to add a type, add a value here.
func operatorTypes() [11]operatorType {
	return [...]operatorType{
		{TypeCommand, "a program with arguments", checkCommand, commandProcess},
		{TypePython, "a Python script or file", checkScripted, pythonProcess},
		{TypeShell, "a shell script or file", checkScripted, shellProcess},
		{TypeNoop, "nothing; it joins branches of the graph", checkNoop, nil},
		{TypeHTTP, "one HTTP request", checkHTTP, nil},
		{TypeSQL, "one statement in a database", checkSQL, nil},
		{TypeGRPC, "one call of a gRPC method", checkGRPC, nil},
		{TypeSensor, "a wait for a condition", checkSensor, nil},
		{TypeGraph, "a graph of this definition", checkGraph, nil},
		{TypeWorkflow, "a version of another workflow", checkWorkflow, nil},
		{TypeApproval, "a user's answer", checkApproval, nil},
	}
}

func (t OperatorType) entry() (operatorType, bool) {
	types := operatorTypes()
	i := slices.IndexFunc(types[:], func(e operatorType) bool { return e.name == t })
	if i < 0 {
		return operatorType{}, false
	}
	return types[i], true
}

// OperatorTypeNames lists the types in their documented order.
func OperatorTypeNames() []string {
	types := operatorTypes()
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t.name)
	}
	return names
}

// operatorLabel matches the kinds of work that the design document has, such as TrainOperator.
var operatorLabel = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,50}Operator$`)

// labelOf returns text when it is such a kind, otherwise "".
func labelOf(text string) string {
	if operatorLabel.MatchString(text) {
		return text
	}
	return ""
}

// typeOfCode returns the type of an operator that has only a label, from its code.
func (o *Operator) typeOfCode() OperatorType {
	switch c := o.Code; {
	case o.Sensor != nil:
		return TypeSensor
	case o.HTTP != nil:
		return TypeHTTP
	case o.GRPC != nil:
		return TypeGRPC
	case o.SQL != nil:
		return TypeSQL
	case len(c.Command) > 0 || c.OfImage():
		return TypeCommand
	case strings.HasSuffix(c.File, ".sh") || strings.HasPrefix(c.Script, "#!/bin/sh"):
		return TypeShell
	}
	return TypePython
}

// Summary is a short description of the type.
func (t OperatorType) Summary() string {
	e, _ := t.entry()
	return e.summary
}

// Process is what a process operator runs: either a command, or a script that
// the interpreter ("python" or "shell") reads, followed by Args. Without an
// interpreter Args is the command that reads the script, whose path comes last.
type Process struct {
	Command     []string
	Script      string
	Interpreter string
	Args        []string
}

// Process returns the process of the operator; false when it has none.
func (o *Operator) Process() (Process, bool) {
	e, _ := o.Type.entry()
	if e.process == nil {
		return Process{}, false
	}
	return e.process(o.Code), true
}

func commandProcess(c Code) Process {
	if c.Script != "" { // of documents that are not native: the command reads it
		return Process{Script: c.Script, Args: slices.Concat(c.Command, c.Args)}
	}
	return Process{Command: slices.Concat(c.Command, c.Args)}
}

func pythonProcess(c Code) Process { return scriptProcess(c, "python", "python3") }
func shellProcess(c Code) Process  { return scriptProcess(c, "shell", "sh") }

func scriptProcess(c Code, interpreter, program string) Process {
	if c.File != "" {
		return Process{Command: slices.Concat([]string{program, c.File}, c.Args)}
	}
	return Process{Script: c.Script, Interpreter: interpreter, Args: c.Args}
}

// sectionCheck is what the check of an operator type sees.
type sectionCheck struct {
	*problems
	op       *Operator
	path     string // of the operator
	codePath string
}

// refuse reports a code field that the type cannot use.
func (c *sectionCheck) refuse(given bool, field string) {
	if given {
		c.add(c.codePath+"."+field, "An operator of type %s has no %s.", c.op.Type, field)
	}
}

func (c *sectionCheck) refuseHTTP() {
	if c.op.HTTP != nil && c.op.Sensor == nil { // that of a sensor is reported with its section
		c.add(c.path+".http", "Only operators of type http have this section.")
	}
}

func (c *sectionCheck) refuseCode() {
	if !c.op.Code.IsZero() {
		c.add(c.codePath, "An operator of type %s runs no code.", c.op.Type)
	}
}

func checkCommand(c *sectionCheck) {
	c.refuseHTTP()
	code := c.op.Code
	switch {
	case code.OfImage() && code.Package != "":
		c.add(c.codePath+".command", "Set the program of the package to run; the image's default program does not use the package.")
	case code.OfImage(): // the default program of the image
	case len(code.Command) == 0 || code.Command[0] == "":
		c.add(c.codePath+".command", "Set the program to run, as a list: [program, argument]; or use an image with a default program.")
	}
	c.refuse(code.Script != "", "script")
	c.refuse(code.File != "", "file")
	c.refuse(len(code.Requirements) > 0, "requirements")
	c.checkPackage()
}

func checkScripted(c *sectionCheck) {
	c.refuseHTTP()
	code := c.op.Code
	c.refuse(len(code.Command) > 0, "command")
	switch {
	case code.Script != "" && code.File != "":
		c.add(c.codePath+".file", "Set either a script or a file.")
	case code.Script == "" && code.File == "":
		c.add(c.codePath, "Set a script, or a file of the package.")
	case code.File != "" && code.Package == "":
		c.add(c.codePath+".package", "Set the package that contains the file %s.", code.File)
	}
	if code.File != "" && !localPath(code.File) {
		c.add(c.codePath+".file", "The file must be inside the package.")
	}
	if c.op.Type != TypePython {
		c.refuse(len(code.Requirements) > 0, "requirements")
	}
	c.checkPackage()
}

var packagePattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func (c *sectionCheck) checkPackage() {
	pkg := c.op.Code.Package
	if strings.HasPrefix(pkg, "sha256:") && !packagePattern.MatchString(pkg) {
		c.add(c.codePath+".package", "The reference of a package is sha256: followed by 64 hexadecimal digits.")
	}
}

func checkNoop(c *sectionCheck) {
	c.refuseHTTP()
	c.refuseCode()
	if len(c.op.Outputs) > 0 {
		c.add(c.path+".outputs", "An operator of type noop has no outputs.")
	}
}
