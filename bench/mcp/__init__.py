"""The agents' server beside the reference filesystem server from npm."""
