// Package brokenstore breaks stores on purpose and has the judges of package
// apiload find it out: proof that they would. Only tests import it.
//
// What must stay true: what is broken is told to nobody but through the API,
// and whoever is to notice does so without knowing.
package brokenstore
