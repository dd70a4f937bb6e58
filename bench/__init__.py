"""Speed and memory against peers, as ratios inside one run. Start with bench/README.md."""
