package server

// files is how many connections the process may have open.
func files() int { return 1 << 30 }
