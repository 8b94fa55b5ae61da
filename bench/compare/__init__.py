"""What it costs, each figure beside a yardstick that was measured in the same run."""
