package events

// Hurry has streams do without news in milliseconds what they do in seconds.
func (h *Hub) Hurry() {
	h.pace = pace{usual.comment / 1000, usual.check / 1000}
}
