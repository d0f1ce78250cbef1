package datastore

// Decoders are the slots of the process in which values are decoded.
var Decoders = decoders
