"""The audited door for agents."""
