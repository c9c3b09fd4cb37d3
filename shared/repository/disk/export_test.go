package disk

// TempOwner begins the names of the files that these Objects write.
func (o *Objects) TempOwner() string { return o.store.tempOwner() }
