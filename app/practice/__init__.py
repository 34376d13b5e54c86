"""Where a learner starts: both homes, the list of drills, the workspace."""
