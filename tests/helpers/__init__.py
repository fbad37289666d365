"""What tests share: engines, runs, environments and scripts that tests start."""
