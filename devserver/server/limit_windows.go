package server

// Files is how many connections the process may have open.
func Files() int { return 1 << 30 }
