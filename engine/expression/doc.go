// Package expression parses and evaluates the expression languages of definitions:
// FlowForge's own expressions ([Parse]), the tags of Argo's files ([ParseTemplate],
// [Scope.RenderValue]) with the expressions inside them ([ParseArgo]), and Argo's
// conditions ([When]).
//
// Everything here is bounded. A text has a maximum length, a program a maximum number
// of parts, and an evaluation a budget of steps ([MaxSteps]): every iteration of a loop
// costs the parts of its body, and every value that is read, compared or created costs
// its size. An evaluation that exceeds its budget fails, at the same step on every
// machine. Nothing runs in the background, and nothing here reads files of the user,
// the environment or the network.
package expression
