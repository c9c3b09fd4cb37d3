package impact

// Reached are the keys of the flags and configs that are reached in an environment,
// in order.
func (c *Change) Reached(environment string) []string { return c.reached[environment] }
