"""Workloads of the sandbox: pods that are made anew, budgets that are counted, and evictions that these allow or refuse."""
