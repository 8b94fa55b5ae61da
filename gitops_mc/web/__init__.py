"""What the controller answers over HTTP: whether it lives and is ready, its metrics, and the webhook."""
