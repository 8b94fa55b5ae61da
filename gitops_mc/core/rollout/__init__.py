"""The rollout: pure decisions about who may be written to next, and what is waited for."""
