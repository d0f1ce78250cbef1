// Package expression reads and evaluates the small languages that definitions
// hold: FlowForge's own expressions ([Parse]), the tags of Argo's files
// ([ParseTemplate], [Scope.RenderValue]) with the expressions inside them
// ([ParseArgo]), and Argo's conditions ([When]).
//
// Everything here is bounded. A text has a greatest length, a program a greatest
// number of parts, and an evaluation a budget of steps ([MaxSteps]): every turn
// of a loop costs the parts of its body, and every value that is read, compared
// or made costs its size. What costs more than is left ends the evaluation with
// an error, at the same step each time, on any machine. Nothing runs on in the
// background, and nothing here reads files of the user's, the environment or the
// network.
package expression
