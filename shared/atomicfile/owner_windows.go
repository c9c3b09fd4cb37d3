package atomicfile

// GiveToFolder does nothing: files have the rights of their folder here.
func GiveToFolder(string) error { return nil }
