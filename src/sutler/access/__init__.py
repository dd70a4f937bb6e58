"""Access of agents: policy, gate, audit, sessions and the reading tools."""
