"""The controller: push to Git, and the fleet follows, with nobody at a keyboard."""
