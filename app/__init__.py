"""The web process and the worker process: pages, accounts, submissions, jobs."""
