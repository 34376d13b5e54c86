"""What learners say to each other under questions and drills, behind a gate that spoils nothing."""
