"""Reference kernels: one file each, torch and triton only."""
