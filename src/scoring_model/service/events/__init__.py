"""Events and the webhooks that get them."""
